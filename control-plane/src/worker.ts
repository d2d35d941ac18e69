import { randomBytes } from 'node:crypto'
import { type SecurityLog, silently } from '@svc/proto/log'
import type { Registry } from 'prom-client'
import type { Line } from './adapters/line.ts'
import { openHeadsFile } from './adapters/heads-file.ts'
import { ChainCheck } from './engines/chain/check.ts'
import type { HeadsLog, TellDeps } from './engines/chain/heads.ts'
import { sealingMetrics } from './engines/chain/metrics.ts'
import { Sealer } from './engines/chain/sealer.ts'
import { outboxMetrics } from './engines/events/lag.ts'
import { archiveMetrics } from './engines/lives/archive.ts'
import { baseBackupMetrics } from './engines/lives/base-backup.ts'
import { rotationMetrics } from './engines/secrets/metrics.ts'
import { scheduleMetrics } from './engines/schedule/metrics.ts'
import { enqueueNamed } from './engines/schedule/queue/enqueue.ts'
import { startQueue } from './engines/schedule/queue/queue.ts'
import { JobRunner } from './engines/schedule/runner.ts'
import { DueWatch } from './engines/schedule/watch.ts'
import { pendingMetrics } from './engines/work/pending.ts'
import { inboxCounters } from './inbox/counters.ts'
import type { Log, StreamDeps } from './inbox/inbox.ts'
import { lagMetrics } from './inbox/lag.ts'
import { followOwedHints } from './inbox/owed-hints.ts'
import { Roster } from './inbox/roster.ts'
import { type JobDeps, recurringJobs, tasks } from './jobs.ts'
import type { WorkerDb } from './kernel/db.ts'

export interface WorkerDeps {
  /** of scope `system`, role `svc_worker` */
  db: WorkerDb
  /** what connections to the database belong to; absent: to nothing */
  line?: Line
  ports: StreamDeps['ports'] &
    JobDeps['ports'] &
    Pick<TellDeps['ports'], 'headKey'> & { node: string; config: { auditHeadsDir?: string | undefined } }
  log: Log & HeadsLog
  metrics: Registry
  /** default: silent */
  security?: SecurityLog
  /** see `InboxDeps` */
  without?: ReadonlySet<string>
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
  line,
  ports,
  log,
  metrics,
  security = silently,
  without = new Set(),
  drainMs = 10_000,
}: WorkerDeps): Promise<{ close(): Promise<void> }> {
  const owner = `${ports.node}.${randomBytes(4).toString('hex')}` // a restarted process is another worker
  const deps: StreamDeps = { db, ports, log, counters: inboxCounters(metrics), security, without }
  const { pipeline, auditHeadsDir } = ports.config
  const headsFile = auditHeadsDir === undefined ? undefined : await openHeadsFile(auditHeadsDir)
  const roster = new Roster(deps, owner)
  const jobs = new JobRunner(
    { db, runner: owner, leaseMs: pipeline.jobLeaseMs, log },
    recurringJobs({ db, ports, log, chains: new ChainCheck({ db, metrics, log }) }),
  )
  const unfollow = await followOwedHints(deps, (shard) => roster.owns(shard))
  await roster.start()
  jobs.start()
  pendingMetrics(metrics, db, log)
  lagMetrics(metrics, db, log)
  outboxMetrics(metrics, db, log)
  scheduleMetrics(metrics, db, log)
  archiveMetrics(metrics, db, log)
  baseBackupMetrics(metrics, db, log)
  sealingMetrics(metrics, db, log)
  rotationMetrics(metrics, db, log)
  const watch = new DueWatch({ db, enqueue: enqueueNamed, log, everyMs: pipeline.scheduleMs })
  watch.start()
  const heads = { headKey: ports.headKey, headsFile }
  const sealer = new Sealer({ db, ports: heads, log, everyMs: pipeline.auditSealMs })
  sealer.start()
  const queue = startQueue({
    db,
    ...(line && { line }),
    ports,
    tasks,
    log,
    metrics,
    pipeline,
    drainMs,
    delayMs: queueDelayMs,
  })
  let closing: Promise<void> | undefined
  const close = async () => {
    await Promise.all([jobs.close(), watch.close(), queue.close(), sealer.close()])
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
