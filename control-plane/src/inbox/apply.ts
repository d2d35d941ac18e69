import { applyContacts } from '../engines/status/contact.ts'
import type { CheckIn } from '../engines/updates/offer.ts'
import { applyUpdateReports } from '../engines/updates/report.ts'
import { type Applied, applyReports } from '../engines/work/report.ts'
import type { Db } from '../kernel/tenancy.ts'
import type { Pipeline } from '../pipeline.ts'
import { checkInsOf } from './check-in.ts'
import { deviceSeen } from './device-seen.ts'
import { applyInventories, inventoriesReported, type ReportedInventory } from './inventory-reported.ts'
import type { Item, Mark } from './item.ts'
import {
  contactOf,
  explainRefused,
  foldPresence,
  type Presence,
  type Refused,
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
}

/**
 * Applies one batch, in the order per device in which it was said, in the given transaction. Each kind costs a fixed number of
 * statements, however many devices the batch is about; a batch of mere heartbeats costs two and the watermark.
 */
export async function applyBatch(
  db: Db,
  batch: { items: readonly Item[]; marks: readonly Mark[] },
  numbers: Pick<Pipeline, 'deadlineGraceMs' | 'watermarkGapMs'>,
): Promise<Outcome> {
  const presences = foldPresence(batch.items, { heartbeat: deviceSeen, session: sessionSignal })
  const { written, refused } = await applyPresences(db, presences)
  await applyUpdateReports(db, updatesReported(batch.items))
  const reports = await applyReports(db, resultsArrived(batch.items), numbers.deadlineGraceMs)
  const inventories = await applyInventories(db, inventoriesReported(batch.items))
  writeWatermarks(db, batch.marks, numbers.watermarkGapMs)
  return {
    reports,
    inventories,
    refused,
    reachable: reachable(presences, written, reports),
    checkIns: checkInsOf(presences, written),
  }
}

interface Met {
  /** whose word counts, and the configuration that each is to have */
  written: ReadonlyMap<string, number>
  refused: Refused[]
}

async function applyPresences(db: Db, presences: readonly Presence[]): Promise<Met> {
  if (presences.length === 0) return { written: new Map(), refused: [] }
  const written = await writePresence(db, presences)
  await applyContacts(db, presences.filter((presence) => written.has(presence.deviceId)).map(contactOf))
  const refused = await explainRefused(
    db,
    presences.filter((presence) => !written.has(presence.deviceId)),
  )
  return { written, refused }
}

function reachable(
  presences: readonly Presence[],
  written: ReadonlyMap<string, number>,
  reports: Applied,
): string[] {
  const heard = presences.filter(({ deviceId, node }) => node !== null && written.has(deviceId))
  const ids = new Set(heard.map(({ deviceId }) => deviceId))
  for (const report of reports.acknowledge) ids.add(report.from.deviceId)
  return [...ids]
}
