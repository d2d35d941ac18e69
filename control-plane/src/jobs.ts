import type { Bus } from '@svc/proto/bus'
import type { ChainCheck } from './engines/chain/check.ts'
import { liveEvents } from './engines/events/live.ts'
import { relayEvents } from './engines/events/relay.ts'
import { type ForgotPorts, forgotTask } from './areas/access/auth/password/forgot.ts'
import { mailTask } from './engines/mail/queue.ts'
import type { Job } from './engines/schedule/job.ts'
import { type Prunable, prune, prunes } from './engines/schedule/prune.ts'
import { enqueuePrunes, pruneTask, slowlyPruned } from './engines/schedule/prune-task.ts'
import type { QueueTask } from './engines/schedule/queue/task.ts'
import { reseal } from './engines/secrets/reseal.ts'
import { endStalledUpdates } from './engines/updates/report.ts'
import { settleDevices } from './engines/status/flapping.ts'
import { sweepDevices } from './engines/status/sweep.ts'
import { sweepWatchdogs } from './engines/status/watchdog.ts'
import { sweepCommands } from './engines/work/expiry.ts'
import { tellFinished } from './engines/work/hints.ts'
import { offerOwed, type OfferPorts } from './engines/work/offer.ts'
import type { WorkerDb } from './kernel/db.ts'
import type { Pipeline } from './pipeline.ts'

export interface JobDeps {
  /** of scope `system` */
  db: WorkerDb
  ports: OfferPorts & ForgotPorts & { bus: Bus; config: { pipeline: Pipeline } }
  log: { warn(details: object, message: string): void }
  chains: ChainCheck
}

/** The one list of recurring work. Each job runs in one process at a time. */
export function recurringJobs({ db, ports, log, chains }: JobDeps): Job[] {
  const { pipeline } = ports.config
  const subscribers = [liveEvents(ports.bus)]
  return [
    { name: 'commands.sweep', everyMs: pipeline.commandSweepMs, run: () => endCommands(db, ports) },
    { name: 'devices.sweep', everyMs: pipeline.deviceSweepMs, run: () => sweepDevices(db, pipeline) },
    { name: 'devices.settle', everyMs: pipeline.deviceSweepMs, run: () => settleDevices(db, pipeline) },
    { name: 'watchdogs.sweep', everyMs: pipeline.deviceSweepMs, run: () => sweepWatchdogs(db, pipeline) },
    {
      name: 'updates.sweep',
      everyMs: pipeline.updateSweepMs,
      run: () => endStalledUpdates(db, pipeline),
    },
    {
      name: 'events.relay',
      everyMs: pipeline.relayMs,
      run: () => relayEvents({ db, subscribers, log }, pipeline.relayBatch),
    },
    {
      name: 'audit.check',
      everyMs: pipeline.auditCheckMs,
      run: () => chains.run(pipeline.auditCheckSeals),
    },
    { name: 'secrets.reseal', everyMs: pipeline.resealMs, run: () => reseal(db, ports.secrets) },
    ...(Object.keys(prunes) as Prunable[])
      .filter((what) => !slowly.has(what))
      .map((what) => ({ name: `prune.${what}`, everyMs: pipeline.pruneMs, run: () => prune(db, what) })),
    { name: 'prune.nightly', cron: nightly, run: () => db.tx((tx) => enqueuePrunes(tx)) },
  ]
}

const slowly = new Set<string>(slowlyPruned)
/** Not at a full hour, when everything happens. Whoever was not running then does it at the next start. */
const nightly = '17 3 * * *'

/** The one list of tasks: what may be put into the job queue, and is run from it. */
export const tasks: readonly QueueTask<JobDeps['ports']>[] = [pruneTask, mailTask, forgotTask]

/** Ends what has had its time, wakes who waits for it, and fills the room that this makes in its lanes. */
const endCommands = (db: WorkerDb, ports: OfferPorts): Promise<void> =>
  sweepCommands(db, async (ended) => {
    await tellFinished(
      ports.bus,
      ended.map((command) => command.id),
    )
    await offerOwed(db, ports, [...new Set(ended.map((command) => command.deviceId))])
  })
