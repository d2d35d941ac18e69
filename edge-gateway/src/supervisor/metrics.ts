import { AggregatorRegistry, Gauge, Registry } from 'prom-client'
import type { Tally } from '../ops/counters.ts'
import { gauge, type Metrics, tally } from '../ops/metrics.ts'

/** What a supervisor knows by itself. */
export interface SupervisorFacts {
  wanted: number
  serving: () => number
  /** replacements, by what ended the one before */
  restarts: Tally
}

/** What the workers answered, by their number; undefined: nothing in time. */
export type Answers = ReadonlyMap<number, Metrics | undefined>

/** A supervisor's own metrics, and those of its workers, each with the label `worker`. */
export class SupervisorMetrics {
  readonly #own = new Registry()
  readonly #answers: Gauge<'worker'>
  #paused = 0

  constructor({ wanted, serving, restarts }: SupervisorFacts) {
    gauge(this.#own, 'supervisor_workers_wanted', 'Workers that there should be', () => wanted)
    gauge(this.#own, 'supervisor_workers', 'Workers that accept agents', serving)
    gauge(this.#own, 'supervisor_ports_paused', 'Workers that do not listen for now', () => this.#paused)
    tally(this.#own, 'supervisor_restarts', 'Workers replaced', 'reason', () => restarts)
    this.#answers = new Gauge({
      name: 'svc_edge_supervisor_worker_answers',
      help: 'Whether a worker told its metrics in time',
      labelNames: ['worker'],
      registers: [this.#own],
    })
  }

  /** In the format of Prometheus. */
  async text(answers: Answers): Promise<string> {
    this.#answers.reset()
    for (const [worker, metrics] of answers) this.#answers.set({ worker: String(worker) }, metrics ? 1 : 0)
    const all = [...answers].flatMap(([worker, metrics]) => (metrics ? [labelled(metrics, worker)] : []))
    this.#paused = all.flat().reduce((sum, metric) => sum + pausedIn(metric), 0)
    return `${await this.#own.metrics()}\n${await AggregatorRegistry.aggregate(all).metrics()}`
  }
}

const labelled = (metrics: Metrics, worker: number): Metrics =>
  metrics.map((metric) => ({
    ...metric,
    values: metric.values.map((value) => ({
      ...value,
      labels: { ...value.labels, worker: String(worker) },
    })),
  })) as Metrics

const pausedIn = ({ name, values }: Metrics[number]): number =>
  name === 'svc_edge_paused' ? values.reduce((sum, { value }) => sum + value, 0) : 0
