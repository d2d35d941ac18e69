import type { Worker } from 'node:cluster'
import type { Metrics } from '../ops/metrics.ts'
import { delayMs, healthyAfterMs } from './backoff.ts'
import type { FromWorker, ToWorker } from './messages.ts'

/** How a worker ended. */
export interface End {
  /** as metrics show it: `sigkill`, `code_1`, `start_timeout` */
  reason: string
  /** undefined when a signal, or we, ended it */
  code: number | undefined
  /** it had accepted agents */
  served: boolean
}

export interface SlotDeps {
  fork: () => Worker
  serving: () => void
  /** The worker has ended; `replace` has another one follow after a pause. */
  ended: (end: End, replace: () => number) => void
  startWithinMs: number
}

type State =
  | { kind: 'empty' }
  | { kind: 'starting'; worker: Worker; late: NodeJS.Timeout }
  | { kind: 'serving'; worker: Worker; since: number }
  | { kind: 'pausing'; next: NodeJS.Timeout }

/** A question under way; undefined: there is nobody any more who could answer it. */
interface Asking {
  answer: Promise<Metrics | undefined>
  answered: (metrics: Metrics | undefined) => void
}

/** One place among the workers, and whoever holds it. */
export class Slot {
  readonly number: number
  readonly #deps: SlotDeps
  #state: State = { kind: 'empty' }
  #endsInARow = 0
  #asking: Asking | undefined
  #gone: (() => void)[] = []

  constructor(number: number, deps: SlotDeps) {
    this.number = number
    this.#deps = deps
  }

  get isServing(): boolean {
    return this.#state.kind === 'serving'
  }

  start(): void {
    const worker = this.#fork()
    if (!worker) return
    const late = setTimeout(() => {
      this.#end(worker, { reason: 'start_timeout', code: undefined })
      worker.process.kill('SIGKILL')
    }, this.#deps.startWithinMs)
    this.#state = { kind: 'starting', worker, late }
    worker.on('message', (message: FromWorker) => this.#hear(worker, message))
    worker.on('error', () => worker.isDead() && this.#end(worker, { reason: 'not_started', code: undefined }))
    worker.on('exit', (code, signal) =>
      this.#end(
        worker,
        signal ? { reason: signal.toLowerCase(), code: undefined } : { reason: `code_${code}`, code },
      ),
    )
  }

  /** Its metrics; undefined from one that does not answer within `ms`, or has not done so before. */
  async metrics(ms: number): Promise<Metrics | undefined> {
    if (!this.isServing) return undefined
    if (!this.#asking) {
      let answered: Asking['answered'] = () => {}
      const answer: Asking['answer'] = new Promise((resolve) => {
        answered = resolve
      })
      // One question at a time: those to a worker that hangs would pile up.
      this.#asking = { answer, answered }
      this.#tell({ kind: 'metrics' })
    }
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), ms)
    })
    return Promise.race([this.#asking.answer, late]).finally(() => clearTimeout(timer))
  }

  /** Has the worker go, politely, and nobody follow. Resolves when it has ended. */
  drain(): Promise<void> {
    if (this.#state.kind === 'pausing') clearTimeout(this.#state.next)
    if (!this.#worker) return Promise.resolve()
    this.#tell({ kind: 'drain' })
    return new Promise((resolve) => this.#gone.push(resolve))
  }

  kill(): void {
    this.#worker?.process.kill('SIGKILL')
  }

  /** Undefined when the system does not give another process, which is told as an end. */
  #fork(): Worker | undefined {
    try {
      return this.#deps.fork()
    } catch {
      this.#state = { kind: 'empty' }
      this.#ended({ reason: 'not_started', code: undefined, served: false })
      return undefined
    }
  }

  get #worker(): Worker | undefined {
    return 'worker' in this.#state ? this.#state.worker : undefined
  }

  #tell(message: ToWorker): void {
    // That it cannot hear is seen by its end.
    this.#worker?.send(message, () => {})
  }

  #hear(worker: Worker, message: FromWorker): void {
    if (worker !== this.#worker) return
    if (message.kind === 'metrics') {
      this.#asking?.answered(message.metrics)
      this.#asking = undefined
    } else if (this.#state.kind === 'starting') {
      clearTimeout(this.#state.late)
      this.#state = { kind: 'serving', worker, since: performance.now() }
      this.#deps.serving()
    }
  }

  #end(worker: Worker, end: Omit<End, 'served'>): void {
    if (worker !== this.#worker) return
    const before = this.#state
    if (before.kind === 'starting') clearTimeout(before.late)
    const served = before.kind === 'serving'
    if (served && performance.now() - before.since >= healthyAfterMs) this.#endsInARow = 0
    this.#state = { kind: 'empty' }
    this.#asking?.answered(undefined)
    this.#asking = undefined
    for (const resolve of this.#gone.splice(0)) resolve()
    this.#ended({ ...end, served })
  }

  #ended(end: End): void {
    this.#deps.ended(end, () => this.#replace())
  }

  /** Milliseconds until it starts. */
  #replace(): number {
    const pauseMs = Math.round(delayMs(this.#endsInARow++))
    this.#state = { kind: 'pausing', next: setTimeout(() => this.start(), pauseMs) }
    return pauseMs
  }
}
