import type { Quarantined } from '../engines/identity/quarantine.ts'
import { stage } from '../engines/identity/rows.ts'
import { watchInstances } from '../engines/identity/watch.ts'
import { applyContacts } from '../engines/status/contact.ts'
import { applyWatchdogs, hearWatchdogs, type Watched } from '../engines/status/watchdog.ts'
import type { CheckIn } from '../engines/updates/offer.ts'
import { applyUpdateReports } from '../engines/updates/report.ts'
import type { Connection } from '../engines/work/deliver.ts'
import { type Applied, applyReports } from '../engines/work/report.ts'
import type { Db } from '../kernel/tenancy.ts'
import type { Pipeline } from '../pipeline.ts'
import { checkInsOf } from './check-in.ts'
import { credentialsProposed } from './credentials-proposed.ts'
import { deviceSeen } from './device-seen.ts'
import { instancesConnected } from './instances-connected.ts'
import { applyInventories, inventoriesReported, type ReportedInventory } from './inventory-reported.ts'
import type { Item, Mark } from './item.ts'
import {
  contactOf,
  explainRefused,
  foldPresence,
  type Presence,
  type Refused,
  type Written,
  writePresence,
} from './presence.ts'
import { resultsArrived } from './result-arrived.ts'
import { sessionSignal } from './session-signal.ts'
import { updatesReported } from './update-reported.ts'
import { writeWatermarks } from './watermarks.ts'

/** What follows once a batch is committed. */
export interface Outcome {
  reports: Applied
  inventories: ReportedInventory[]
  /** devices whose word was not taken: a newer connection is known, or no such device */
  refused: Refused[]
  /** devices that were heard from or have finished something: what they are owed may go out now */
  reachable: string[]
  /** agents that sent a heartbeat: they may be behind */
  checkIns: CheckIn[]
  /** next tokens that are noted */
  staged: Staged[]
  /** devices of which there were two */
  quarantined: Quarantined[]
}

export interface Staged {
  from: Connection
  tokenSha256: Uint8Array
}

/**
 * Applies one batch, in the order per device in which it was said, in the given transaction. Each kind costs a fixed number of
 * statements, however many devices the batch is about; a batch of mere heartbeats costs two and the watermark.
 *
 * Rows are locked in the order in which everybody locks them who waits: presence, then devices, all at once by their ids, then commands
 * by theirs (ARCHITECTURE.md).
 *
 * @param without as of the inbox
 */
export async function applyBatch(
  db: Db,
  batch: { items: readonly Item[]; marks: readonly Mark[] },
  numbers: Pick<
    Pipeline,
    | 'deadlineGraceMs'
    | 'watermarkGapMs'
    | 'flapWithinMs'
    | 'flapAfter'
    | 'mainAgentSilentAfterMs'
    | 'credentialRenewMs'
  >,
  without: ReadonlySet<string> = new Set(),
): Promise<Outcome> {
  const presences = foldPresence(batch.items, { heartbeat: deviceSeen, session: sessionSignal })
  const updates = updatesReported(batch.items)
  const reported = inventoriesReported(batch.items)
  const proposals = credentialsProposed(batch.items)
  const sightings = without.has('copies') ? [] : instancesConnected(batch.items)
  const others = [...updates, ...reported.map(({ from }) => from), ...proposals, ...sightings]
  const fenced = !without.has('epochs')
  const { written, refused } = await applyPresences(db, { presences, others, fenced }, numbers)
  await applyUpdateReports(db, updates)
  const inventories = await applyInventories(db, reported)
  const staged = await stageProposed(db, proposals, numbers.credentialRenewMs)
  const quarantined = await watchInstances(db, sightings)
  const reports = await applyReports(db, resultsArrived(batch.items), numbers.deadlineGraceMs)
  writeWatermarks(db, batch.marks, numbers.watermarkGapMs)
  return {
    reports,
    inventories,
    refused,
    reachable: reachable(presences, written, reports),
    checkIns: checkInsOf(presences, written),
    staged,
    quarantined,
  }
}

async function stageProposed(
  db: Db,
  proposals: ReturnType<typeof credentialsProposed>,
  renewAfterMs: number,
): Promise<Staged[]> {
  if (proposals.length === 0) return []
  const staged = new Set((await stage(db, proposals, renewAfterMs)).map(({ deviceId }) => deviceId))
  return proposals.filter(({ deviceId }) => staged.has(deviceId))
}

interface Met {
  /** whose word counts, and the configuration that each is to have */
  written: ReadonlyMap<string, Written>
  refused: Refused[]
}

interface Heard {
  presences: readonly Presence[]
  /** of whom something else is written */
  others: readonly { deviceId: string }[]
  fenced: boolean
}

async function applyPresences(
  db: Db,
  { presences, others, fenced }: Heard,
  numbers: Parameters<typeof writePresence>[2] & Parameters<typeof applyWatchdogs>[2],
): Promise<Met> {
  const said = presences.filter((presence) => presence.said)
  const written =
    said.length === 0 ? new Map<string, Written>() : await writePresence(db, said, numbers, fenced)
  const contacts = said.flatMap((presence) => {
    const row = written.get(presence.deviceId)
    return row ? [contactOf(presence, row)] : []
  })
  const watched = await hearWatchdogs(db, presences.flatMap(watchedOf))
  await applyContacts(
    db,
    contacts,
    [...others, ...watched].map(({ deviceId }) => deviceId),
  )
  await applyWatchdogs(db, watched, numbers)
  const known = new Set(watched.map(({ deviceId }) => deviceId))
  const refused = await explainRefused(
    db,
    presences.filter(({ deviceId }) => !written.has(deviceId) && !known.has(deviceId)),
  )
  return { written, refused }
}

const watchedOf = ({ deviceId, epoch, watchdogMs, reported }: Presence): Watched[] =>
  watchdogMs === undefined
    ? []
    : [{ deviceId, epoch, heardMs: watchdogMs, version: reported.watchdogVersion }]

function reachable(
  presences: readonly Presence[],
  written: ReadonlyMap<string, Written>,
  reports: Applied,
): string[] {
  const heard = presences.filter(({ deviceId, node }) => node !== null && written.has(deviceId))
  const ids = new Set(heard.map(({ deviceId }) => deviceId))
  for (const report of reports.acknowledge) ids.add(report.from.deviceId)
  return [...ids]
}
