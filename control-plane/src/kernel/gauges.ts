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
  type Answer = Record<Name, number> | undefined
  let answer: Promise<Answer> | undefined
  let scrape: Promise<Answer> | undefined
  let toldOfSilence = false
  const ask = async (): Promise<Answer> => {
    toldOfSilence = false
    try {
      return await asked.ask()
    } catch (error) {
      asked.failed(error)
      return undefined
    }
  }
  const inTime = async (): Promise<Answer> => {
    answer ??= ask().finally(() => {
      answer = undefined
    })
    const answered = new AbortController()
    const patience = sleep(gaugePatienceMs, 'late' as const, { signal: answered.signal, ref: false })
    // Once there is an answer nobody waits for the other any more.
    const found = await Promise.race([answer, patience.catch(() => undefined)])
    answered.abort()
    if (found !== 'late') return found
    if (!toldOfSilence) asked.failed(new Error(`no answer within ${gaugePatienceMs} ms`))
    toldOfSilence = true
    return undefined
  }
  for (const [name, help] of Object.entries(asked.gauges) as [Name, string][]) {
    registry.removeSingleMetric(name)
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        scrape ??= inTime().finally(() => {
          scrape = undefined
        })
        const values = await scrape
        this.set(values?.[name] ?? Number.NaN)
      },
    })
  }
}
