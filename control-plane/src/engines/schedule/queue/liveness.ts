import type { WorkerDb } from '../../../kernel/db.ts'
import type { JobMetrics } from './metrics.ts'
import { join, leave, renew, takeOver } from './rows.ts'
import type { TaskLog } from './task.ts'

export interface LivenessDeps {
  db: WorkerDb
  log: TaskLog
  metrics: JobMetrics
  beatMs: number
  deadMs: number
  pool: string
  /** This pool stands in the table: others will notice when it dies. */
  onJoined: () => void
  /** Others took this pool for dead, and its jobs with it. */
  onGivenUp: () => void
}

/** Says that this pool is alive, and takes over from those that no longer do. The queue by itself would wait for four hours. */
export class Liveness {
  readonly #deps: LivenessDeps
  #timer: NodeJS.Timeout | undefined
  #beating: Promise<void> = Promise.resolve()
  #joined = false
  #closed = false

  constructor(deps: LivenessDeps) {
    this.#deps = deps
    this.#next(0)
  }

  /** Idempotent. The jobs of this pool have ended. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#beating
    await leave(this.#deps.db, this.#deps.pool)
  }

  #next(ms: number): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat().finally(() => this.#next(this.#deps.beatMs))
    }, ms)
  }

  async #beat(): Promise<void> {
    const { db, log, metrics, pool, deadMs, onJoined, onGivenUp } = this.#deps
    try {
      const { known, pools, ended } = await db.tx(async (tx) => {
        const known = await renew(tx, pool)
        if (!known) await join(tx, pool)
        return { known, ...(await takeOver(tx, deadMs)) }
      })
      if (!known && this.#joined) onGivenUp()
      if (!this.#joined) onJoined()
      this.#joined = true
      if (pools.length > 0)
        log.warn({ pools }, 'workers that died are cleared up after; others begin their jobs anew')
      for (const { id, task } of ended) {
        metrics.ended(task, 'failed')
        log.error({ task, job: id }, 'a job failed for good: its worker died on the last attempt')
      }
    } catch (error) {
      log.warn({ err: error }, 'the job queue’s sign of life was not written; trying again')
    }
  }
}
