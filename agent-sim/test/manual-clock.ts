import type { Clock, Timer } from '../src/clock.ts'

const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Time that moves only when told to. */
export class ManualClock implements Clock {
  #now: number
  #timers: { at: number; run: () => void }[] = []

  constructor(now = 1_800_000_000_000) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  after(ms: number, run: () => void): Timer {
    const timer = { at: this.#now + Math.max(0, ms), run }
    this.#timers.push(timer)
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer)
      },
    }
  }

  /** Fires what falls due within `ms`, in order, letting promises settle in between. */
  async advance(ms: number): Promise<void> {
    await settle()
    const end = this.#now + ms
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0]
      if (!next || next.at > end) break
      this.#timers = this.#timers.filter((other) => other !== next)
      this.#now = next.at
      next.run()
      await settle()
    }
    this.#now = end
    await settle()
  }

  get pending(): number {
    return this.#timers.length
  }
}
