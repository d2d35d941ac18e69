import { storable } from '../../db/array-literal.ts'
import type { WorkerDb } from '../../kernel/db.ts'
import type { Job } from './job.ts'
import { declare, finish, keep, takeDue } from './rows.ts'

export interface RunnerDeps {
  db: WorkerDb
  /** unique among the runners that are alive */
  runner: string
  /** how long a job may go on without a sign of life before another runner takes it over */
  leaseMs: number
  log: { error(details: object, message: string): void }
}

/** Longest error text that is kept with a schedule, in characters. */
const maxError = 2_000
/** Due jobs are looked for this often within the shortest period, and never more often than every `minLookMs`. */
const looksPerPeriod = 2
const minLookMs = 10
/** What goes by the clock is looked for as if it had this period. */
const clockMs = 60_000

/** Runs jobs, each when it is due and in one of all processes at a time. */
export class JobRunner {
  readonly #deps: RunnerDeps
  readonly #jobs: ReadonlyMap<string, Job>
  readonly #running = new Map<string, Promise<void>>()
  readonly #lookMs: number
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> = Promise.resolve()
  #declared = false
  #closed = false

  constructor(deps: RunnerDeps, jobs: readonly Job[]) {
    this.#deps = deps
    this.#jobs = new Map(jobs.map((job) => [job.name, job]))
    const periods = jobs.map((job) => ('everyMs' in job ? job.everyMs : clockMs))
    this.#lookMs = Math.max(minLookMs, Math.min(...periods) / looksPerPeriod)
  }

  start(): void {
    this.#next()
  }

  /** Idempotent. Waits for the jobs that are running. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#looking
    await Promise.all(this.#running.values())
  }

  #next(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().finally(() => this.#next())
    }, this.#lookMs)
  }

  async #look(): Promise<void> {
    try {
      if (!this.#declared) await this.#deps.db.tx((tx) => declare(tx, [...this.#jobs.values()]))
      this.#declared = true
      for (const name of await this.#take()) {
        const job = this.#jobs.get(name)
        if (job)
          this.#running.set(
            name,
            this.#run(job).finally(() => this.#running.delete(name)),
          )
      }
    } catch (error) {
      this.#deps.log.error({ err: error }, 'due jobs could not be looked for; trying again')
    }
  }

  #take(): Promise<string[]> {
    const { db, runner, leaseMs } = this.#deps
    const busy = [...this.#running.keys()]
    const idle = [...this.#jobs.keys()].filter((name) => !this.#running.has(name))
    return db.tx(async (tx) => {
      if (busy.length > 0) await keep(tx, runner, busy, leaseMs)
      return idle.length > 0 ? takeDue(tx, runner, idle, leaseMs) : []
    })
  }

  /** A failure is kept in `last_error`, logged, and tried again when the job is next due. */
  async #run(job: Job): Promise<void> {
    const { db, runner, log } = this.#deps
    let failure: string | undefined
    try {
      await job.run()
    } catch (error) {
      failure = storable(String(error)).slice(0, maxError)
      log.error({ job: job.name, err: error }, 'a recurring job failed')
    }
    try {
      await db.tx((tx) => finish(tx, runner, job, failure))
    } catch (error) {
      log.error({ job: job.name, err: error }, 'the end of a job was not recorded; its lease runs out')
    }
  }
}
