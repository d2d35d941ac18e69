import { randomBytes } from 'node:crypto'
import type { Registry } from 'prom-client'
import { scheduleMetrics } from './engines/schedule/metrics.ts'
import { enqueueNamed } from './engines/schedule/queue/enqueue.ts'
import { startQueue } from './engines/schedule/queue/queue.ts'
import { JobRunner } from './engines/schedule/runner.ts'
import { DueWatch } from './engines/schedule/watch.ts'
import { inboxCounters } from './inbox/counters.ts'
import type { Log, StreamDeps } from './inbox/inbox.ts'
import { followOwedHints } from './inbox/owed-hints.ts'
import { Roster } from './inbox/roster.ts'
import { type JobDeps, recurringJobs, tasks } from './jobs.ts'
import type { WorkerDb } from './kernel/db.ts'

export interface WorkerDeps {
  /** of scope `system`, role `svc_worker` */
  db: WorkerDb
  ports: StreamDeps['ports'] & JobDeps['ports'] & { node: string }
  log: Log
  metrics: Registry
  /** what running jobs of the queue get at the end, in milliseconds; default 10 s */
  drainMs?: number
}

/** Loading the queue keeps a process busy for a while: first it is to answer. */
const queueDelayMs = 1_000

/**
 * Everything that happens without a request: works off its share of the up-streams, offers commands, runs recurring jobs and what
 * is due. Any number of workers may run. `close` finishes what is in hand and gives the shards back; a worker that dies is replaced when its
 * leases have run out.
 */
export async function startWorker({
  db,
  ports,
  log,
  metrics,
  drainMs = 10_000,
}: WorkerDeps): Promise<{ close(): Promise<void> }> {
  const owner = `${ports.node}.${randomBytes(4).toString('hex')}` // a restarted process is another worker
  const deps: StreamDeps = { db, ports, log, counters: inboxCounters(metrics) }
  const roster = new Roster(deps, owner)
  const jobs = new JobRunner(
    { db, runner: owner, leaseMs: ports.config.pipeline.jobLeaseMs, log },
    recurringJobs({ db, ports, log }),
  )
  const unfollow = await followOwedHints(deps, (shard) => roster.owns(shard))
  await roster.start()
  jobs.start()
  const { pipeline } = ports.config
  scheduleMetrics(metrics, db, log)
  const watch = new DueWatch({ db, enqueue: enqueueNamed, log, everyMs: pipeline.scheduleMs })
  watch.start()
  const queue = startQueue({ db, ports, tasks, log, metrics, pipeline, drainMs, delayMs: queueDelayMs })
  let closing: Promise<void> | undefined
  const close = async () => {
    await Promise.all([jobs.close(), watch.close(), queue.close()])
    await unfollow()
    await roster.close()
  }
  return {
    close: () => {
      closing ??= close()
      return closing
    },
  }
}
