import { storable } from '../../../db/array-literal.ts'
import type { WorkerDb } from '../../../kernel/db.ts'
import type { JobMetrics } from './metrics.ts'
import { useUpAttempts } from './rows.ts'
import { FinalError, type QueueTask, type TaskLog } from './task.ts'

/** As the queue hands it over. */
export interface RunnableJob {
  id: string
  attempts: number
  max_attempts: number
}

export interface RunningDeps<Ports> {
  db: WorkerDb
  ports: Ports
  log: TaskLog
  metrics: JobMetrics
  /** who holds the job's lock */
  pool: () => string
}

/** Longest error text that is kept with a job, in characters. */
const maxError = 2_000

/** Why a job was broken off that did nothing wrong. */
class Released extends Error {
  override name = 'Released'
  /** whether it is this pool's still */
  readonly ours: boolean

  constructor(message: string, ours: boolean) {
    super(message)
    this.ours = ours
  }
}

/** The jobs that this process runs at this moment. */
export class Running<Ports> {
  readonly #deps: RunningDeps<Ports>
  readonly #controllers = new Set<AbortController>()
  /** ids of jobs that {@link release} ended: to be given back */
  readonly released: string[] = []

  constructor(deps: RunningDeps<Ports>) {
    this.#deps = deps
  }

  /** Ends all jobs that run, as far as the queue is concerned. */
  release(): void {
    this.#breakOff(new Released('the process ends', true))
  }

  /** Others took this pool for dead, and what it ran is theirs. */
  abandon(): void {
    this.#breakOff(new Released('others took this worker for dead', false))
  }

  #breakOff(reason: Released): void {
    for (const controller of this.#controllers) controller.abort(reason)
  }

  /** Runs a job. Its failure is logged and counted here, and thrown for the queue to record. */
  async run(task: QueueTask<Ports>, payload: unknown, job: RunnableJob): Promise<void> {
    const { log, metrics } = this.#deps
    try {
      await this.#within(task, payload)
    } catch (error) {
      throw await this.#failed(task.name, job, error)
    }
    metrics.ended(task.name, 'done')
    log.info({ task: task.name, job: job.id }, 'a job is done')
  }

  async #within(task: QueueTask<Ports>, payload: unknown): Promise<void> {
    const { db, ports, log } = this.#deps
    const controller = new AbortController()
    const { signal } = controller
    const timeUp = () => controller.abort(new Error(`not done within ${task.timeoutMs} ms`))
    const timer = setTimeout(timeUp, task.timeoutMs)
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    this.#controllers.add(controller)
    try {
      await Promise.race([task.start(payload, { db, ports, signal, log }), aborted])
    } finally {
      clearTimeout(timer)
      this.#controllers.delete(controller)
    }
  }

  /** What the queue is told. Its text must be storable, or the queue cannot record it and gives up as a whole. */
  async #failed(task: string, job: RunnableJob, error: unknown): Promise<Error> {
    const { db, log, metrics, pool } = this.#deps
    const told = new Error(
      storable(error instanceof Error ? error.message : String(error)).slice(0, maxError),
    )
    const details = { task, job: job.id, attempt: job.attempts, err: error }
    if (error instanceof Released) {
      if (error.ours) this.released.push(job.id)
      metrics.ended(task, 'released')
      log.warn(details, 'a job was broken off; another worker begins it anew')
      return told
    }
    if (error instanceof FinalError) await useUpAttempts(db, job.id, pool())
    if (error instanceof FinalError || job.attempts >= job.max_attempts) {
      metrics.ended(task, 'failed')
      log.error(details, 'a job failed for good')
      return told
    }
    metrics.ended(task, 'retried')
    log.warn(details, 'a job failed and is tried again')
    return told
  }
}
