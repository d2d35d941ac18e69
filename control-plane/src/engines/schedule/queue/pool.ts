import { EventEmitter } from 'node:events'
import { setTimeout as after } from 'node:timers/promises'
import type { TaskList, WorkerEvents, WorkerPool } from 'graphile-worker'
import type { Line } from '../../../adapters/line.ts'
import { serverTimeouts } from '../../../adapters/postgres.ts'
import { nodePostgres } from '../../../db/node-postgres.ts'
import type { WorkerDb } from '../../../kernel/db.ts'
import type { Pipeline } from '../../../pipeline.ts'
import { Liveness } from './liveness.ts'
import { quietly } from './log.ts'
import type { JobMetrics } from './metrics.ts'
import { breakingMigration, giveBack } from './rows.ts'
import { Running } from './running.ts'
import type { QueueTask, TaskLog } from './task.ts'

/** Connections of the queue: one listens, the others take jobs and end them, which is a statement each. */
const connections = 3
const concurrency = 4
/** The end of a job is written at once, but not waited for. */
const writtenMs = 25
/** What ending a pool may take beyond the time that its jobs get, where the database does not answer. */
const endingMs = 5_000

export interface JobPoolDeps<Ports> {
  /** of scope `system`; its database is the queue's */
  db: WorkerDb
  /** what its connections belong to; absent: to nothing */
  line?: Pick<Line, 'unconnected'>
  ports: Ports
  tasks: readonly QueueTask<Ports>[]
  log: TaskLog
  metrics: JobMetrics
  pipeline: Pick<Pipeline, 'jobPollMs' | 'jobBeatMs' | 'jobPoolDeadMs'>
  /** what running jobs get at the end, in milliseconds */
  drainMs: number
}

export interface JobPool {
  /** resolves when it has stopped, asked or not */
  ended: Promise<void>
  close(): Promise<void>
}

/**
 * Runs jobs until it is closed. Loads the queue's library, which takes some 100 ms.
 *
 * @throws when a newer version's migrations do not let this version work
 */
export async function openJobPool<Ports>(deps: JobPoolDeps<Ports>): Promise<JobPool> {
  const { db, line, log, metrics, pipeline } = deps
  const tooNew = await breakingMigration(db)
  if (tooNew !== undefined) throw new Error(`the queue’s migration ${tooNew} is for newer versions alone`)
  const { Logger, Pool, runTaskList } = await import('../../../db/job-library.ts')
  const config = nodePostgres(db.sql, 'svc_worker', 'svc-jobs')
  const { statement, lock, idleInTransaction } = serverTimeouts.work
  const pgPool = new Pool({
    ...config,
    max: connections,
    statement_timeout: statement,
    lock_timeout: lock,
    idle_in_transaction_session_timeout: idleInTransaction,
    ...(line && { stream: () => line.unconnected() }),
  })
  const lost = (error: Error) => log.warn({ err: error }, 'the job queue lost a connection; it makes another')
  pgPool.on('error', lost).on('connect', (client) => client.on('error', lost))

  let id = ''
  const running = new Running({ ...deps, pool: () => id })
  let onJoined = (): void => undefined
  /** No job is taken before others would notice this pool's death. Asked for before each look. */
  const joined = new Promise<null>((resolve) => {
    onJoined = () => resolve(null)
  })
  const taskList: TaskList = Object.fromEntries(
    deps.tasks.map((task) => [task.name, (payload: unknown, { job }) => running.run(task, payload, job)]),
  )
  const events: WorkerEvents = new EventEmitter()
  const worker = runTaskList(
    {
      events,
      concurrency,
      pollInterval: pipeline.jobPollMs,
      noHandleSignals: true,
      forbiddenFlags: () => joined,
      logger: new Logger(quietly(log)),
      // With a delay, be it none, the end of a job is written again and again while the database is away; without, it is an
      // unhandled rejection.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    },
    taskList,
    pgPool,
  )
  id = worker.id
  followQueues(events, worker)
  const liveness = new Liveness({
    db,
    log,
    metrics,
    beatMs: pipeline.jobBeatMs,
    deadMs: pipeline.jobPoolDeadMs,
    pool: id,
    onJoined,
    onGivenUp: () => running.abandon(),
  })
  const ended = worker.promise.catch((error: unknown) => log.error({ err: error }, 'the job queue stopped'))
  return {
    ended,
    close: async () => {
      await within(
        deps.drainMs + endingMs,
        stop(worker, () => running.release(), deps.drainMs),
        log,
      )
      await within(endingMs, Promise.all([giveBack(db, running.released), liveness.close()]), log)
      await within(endingMs, pgPool.end(), log)
    },
  }
}

/** The next job of a queue is looked for when the one before has ended: by itself the library would not before the next poll. */
function followQueues(events: WorkerEvents, worker: WorkerPool): void {
  let stopping = false
  events.on('pool:gracefulShutdown', () => {
    stopping = true
  })
  const look = () => {
    if (!stopping) worker.nudge(1)
  }
  events.on('job:complete', ({ job }) => {
    if (job.job_queue_id !== null) setTimeout(look, writtenMs)
  })
}

/** Takes no more jobs; those that run get `drainMs`. */
async function stop(worker: WorkerPool, release: () => void, drainMs: number): Promise<void> {
  const timer = setTimeout(release, drainMs)
  try {
    await worker.gracefulShutdown()
  } finally {
    clearTimeout(timer)
  }
}

/** Goes on after `ms`, or when it has failed: what was left undone, others do when they take this pool for dead. */
async function within(ms: number, work: Promise<unknown>, log: TaskLog): Promise<void> {
  const late = new AbortController()
  try {
    await Promise.race([work, after(ms, undefined, { signal: late.signal })])
  } catch (error) {
    log.warn({ err: error }, 'the job queue did not end in order; others clear up after it')
  } finally {
    late.abort()
  }
}
