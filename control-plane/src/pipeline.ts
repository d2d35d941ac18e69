import { z } from 'zod'

const ms = (value: number) => z.coerce.number().int().min(1).default(value)

/**
 * Every number of the pipeline behind the API, in milliseconds unless it says otherwise. Production keeps the defaults; tests and
 * the demo shrink them.
 */
export const Pipeline = z.object({
  /** an offered command is not offered again before this */
  commandLeaseMs: ms(30_000),
  /** what a command gets over its own time limit before the server ends it (promise P4) */
  deadlineGraceMs: ms(60_000),
  /** after the database was restored: devices are asked what they know of older commands for so long */
  askAgainMs: ms(86_400_000),
  /** a device is to make itself another token when its present one is so old */
  credentialRenewMs: ms(20 * 86_400_000),
  /** a token that was replaced may still be on its way from the device itself for so long: no alarm, but nobody is let in by it */
  credentialReplacedMs: ms(300_000),
  commandSweepMs: ms(5_000),
  /** a release that was offered is not offered again before this */
  updateOfferMs: ms(600_000),
  /** a configuration that was sent is not sent again on the same connection before this */
  configLeaseMs: ms(30_000),
  /** releases that another process registered are known after this at the latest */
  releasesMs: ms(5_000),
  /** updates that came to no end are looked for this often */
  updateSweepMs: ms(5_000),
  /** what is left under a master key that retires is looked for this often */
  resealMs: ms(10_000),
  /** a caller that waits for a result looks again this often; hints only make it faster */
  rereadMs: ms(500),

  /** a gateway that has not renewed its lease for this long holds no device; it renews every 2 s */
  nodeLeaseMs: ms(15_000),
  /** offline: no live connection and silent for this long */
  goneAfterMs: ms(90_000),
  /** offline: a live connection that has said nothing for this long */
  silentAfterMs: ms(150_000),
  /** an updating device that has said nothing for this long has failed to come back (interface §Devices) */
  updatingAfterMs: ms(300_000),
  /** a shard or node whose watermark is older than this is not swept: its silence may be ours */
  watermarkStaleMs: ms(30_000),
  /** two watermarks of a node further apart than this: nobody was listening in between */
  watermarkGapMs: ms(30_000),
  /** so many connections within `flapWithinMs`: the device flaps, until it has made none for as long */
  flapAfter: ms(5),
  flapWithinMs: ms(600_000),
  /** a watchdog that has said nothing for this long is offline */
  watchdogSilentAfterMs: ms(600_000),
  /** an agent that has said nothing for this long while its watchdog is heard is silent */
  mainAgentSilentAfterMs: ms(900_000),
  deviceSweepMs: ms(5_000),
  /** devices per statement of the sweep */
  sweepChunk: ms(500),

  workerLeaseMs: ms(15_000),
  workerRenewMs: ms(5_000),
  /** stream entries per transaction; an entry holds up to 1,000 items */
  readCount: ms(16),
  readBlockMs: ms(1_000),
  /** first pause after a failure; doubles up to `retryMaxMs` */
  retryMs: ms(200),
  retryMaxMs: ms(5_000),

  relayMs: ms(1_000),
  relayBatch: ms(500),
  /** rows of the audit log are sealed this often, within five seconds at the latest */
  auditSealMs: ms(1_000),
  /** its chains are followed this often, so many seals at a time */
  auditCheckMs: ms(60_000),
  auditCheckSeals: ms(5_000),
  pruneMs: ms(60_000),
  /** due moments of schedules are looked for at least this often */
  scheduleMs: ms(1_000),
  /** one run of a recurring job may take this long before another worker may take it over */
  jobLeaseMs: ms(60_000),

  /** jobs that become due later are looked for this often; new ones are told of */
  jobPollMs: ms(2_000),
  /** who works off jobs says so this often */
  jobBeatMs: ms(2_000),
  /** who has not said so for this long is dead, and others take over its jobs */
  jobPoolDeadMs: ms(15_000),
})
export type Pipeline = z.output<typeof Pipeline>
