import { setTimeout as sleep } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'

/**
 * Milliseconds that a scrape waits for an answer: below the time limit of who scrapes, and of probes that look for metrics. A
 * database that says nothing at all must neither hide what else there is to see nor end the process.
 */
export const gaugePatienceMs = 2_000

/** Gauges that one question answers together. */
export interface AskedGauges<Name extends string> {
  /** help, by the name of the metric */
  gauges: Record<Name, string>
  ask: () => Promise<Record<Name, number> | undefined>
  /** told of each question that failed */
  failed: (error: unknown) => void
}

/**
 * Registers gauges that are asked for at each scrape, once for all of them: NaN where there is no answer within
 * {@link gaugePatienceMs}. A question that was not answered yet is not asked again. Gauges of these names that are there give way.
 */
export function askedGauges<Name extends string>(registry: Registry, asked: AskedGauges<Name>): void {
  let answer: Promise<Record<Name, number> | undefined> | undefined
  let [told, scrape]: [boolean, typeof answer] = [false, undefined]
  const ask = () => {
    told = false
    return asked.ask().catch((error: unknown) => void asked.failed(error))
  }
  const inTime = async () => {
    const pending = (answer ??= ask().finally(() => (answer = undefined)))
    const late = new AbortController()
    const patience = sleep(gaugePatienceMs, 'late' as const, { signal: late.signal, ref: false })
    const found = await Promise.race([pending, patience.catch(() => undefined)])
    late.abort()
    if (found !== 'late') return found
    if (!told) asked.failed(new Error(`no answer within ${gaugePatienceMs} ms`))
    told = true
    return undefined
  }
  for (const [name, help] of Object.entries(asked.gauges) as [Name, string][]) {
    registry.removeSingleMetric(name)
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const values = await (scrape ??= inTime().finally(() => (scrape = undefined)))
        this.set(values?.[name] ?? Number.NaN)
      },
    })
  }
}
