import { createHistogram, monitorEventLoopDelay, type RecordableHistogram } from 'node:perf_hooks'

const percentiles = { p50: 50, p99: 99, 'p99.9': 99.9 } as const

/** How long things took: percentiles in ms, from 1 µs to 10 minutes with three digits. */
export class Latencies {
  readonly #histogram: RecordableHistogram = createHistogram({ lowest: 1, highest: 600_000_000, figures: 3 })

  get count(): number {
    return this.#histogram.count
  }

  /** @param ms from when it was meant to begin, not from when it did: who waits to begin waits, too */
  saw(ms: number): void {
    this.#histogram.record(Math.max(1, Math.round(ms * 1000)))
  }

  /** `p50`, `p99`, `p99.9` and `max` in ms, each name behind the prefix. Throws when nothing was seen. */
  read(prefix = ''): Record<string, number> {
    if (this.count === 0) throw new RangeError('nothing was seen')
    const found = Object.entries(percentiles).map(([name, percentile]) => [
      `${prefix}${name}`,
      this.#histogram.percentile(percentile) / 1000,
    ])
    return { ...Object.fromEntries(found), [`${prefix}max`]: this.#histogram.max / 1000 }
  }
}

export interface OpenLoop {
  perSecond: number
  /** how many in all */
  count: number
  /** Begins one. `intendedAt` is when it should have begun, by `performance.now()`. */
  begin: (index: number, intendedAt: number) => void
}

const paceMs = 2

/**
 * Begins things at their times, whatever became of those before. What could not begin in time, because this process was busy, begins
 * as soon as may be and still counts from when it should have. Resolves when the last has begun.
 */
export async function openLoop({ perSecond, count, begin }: OpenLoop): Promise<void> {
  const start = performance.now()
  for (let next = 0; next < count; ) {
    const due = Math.min(count, Math.floor(((performance.now() - start) / 1000) * perSecond) + 1)
    for (; next < due; next++) begin(next, start + (next / perSecond) * 1000)
    if (next < count) await new Promise((resolve) => setTimeout(resolve, paceMs))
  }
}

/** This process's event-loop delay from now until read, ms: how far the client's own clock can be trusted. */
export function watchLoop(): () => { p99: number; max: number } {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  return () => {
    delay.disable()
    return { p99: delay.percentile(99) / 1e6, max: delay.max / 1e6 }
  }
}
