import type { Contact, Reported } from '../engines/status/contact.ts'
import type { CheckIn } from '../engines/updates/offer.ts'
import { plainArray, textArray } from '../db/array-literal.ts'
import type { Db } from '../kernel/tenancy.ts'
import type { Pipeline } from '../pipeline.ts'
import type { Item } from './item.ts'

/** What one batch says about one device's connection, folded: as if it had been said in one breath. */
export interface Presence {
  deviceId: string
  /** the highest epoch in the batch; what was said on lower ones no longer counts */
  epoch: number
  /** null: that connection is gone */
  node: string | null
  /** the node of the last item, whatever it said: where a refusal goes */
  from: string
  seenMs: number | undefined
  /** connections that it opened, those on lower epochs too */
  connects: number
  /** one on this epoch is among them */
  connected: boolean
  /** when its watchdog was heard, whoever's connection that came on */
  watchdogMs: number | undefined
  /** something was said that is not the watchdog's alone: of the connection, or by the agent */
  said: boolean
  /** this connection is the watchdog's own */
  watchdogs: boolean
  /** when the last of it came */
  atMs: number
  triggers: ('seen' | 'left')[]
  metrics: Partial<Record<'cpu' | 'ram' | 'disk' | 'uptime', number>>
  reported: Reported
  /** what its agent said in its last heartbeat that decides about updates and configuration */
  beat: Beat | undefined
}

type Beat = Pick<CheckIn, 'agentVersion' | 'helperVersion' | 'configVersion'>

/** Folds items into presences by device, in order; sorted by device id. Kinds that say nothing about presence are passed over. */
export function foldPresence(
  items: readonly Item[],
  readers: Partial<Record<NonNullable<Item['up']['body']>, (presence: Presence, item: Item) => void>>,
): Presence[] {
  const byDevice = new Map<string, Presence>()
  for (const item of items) {
    const read = item.up.body && readers[item.up.body]
    if (!read) continue
    const known = byDevice.get(item.deviceId)
    if (known && item.epoch < known.epoch) continue
    const presence = known && known.epoch === item.epoch ? known : opening(item, known?.connects ?? 0)
    presence.from = item.node
    presence.atMs = Math.max(presence.atMs, item.receivedAtMs)
    byDevice.set(item.deviceId, presence)
    read(presence, item)
  }
  return [...byDevice.values()].sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
}

const opening = ({ deviceId, epoch, node, receivedAtMs }: Item, connects: number): Presence => ({
  deviceId,
  epoch,
  node,
  from: node,
  seenMs: undefined,
  connects,
  connected: false,
  watchdogMs: undefined,
  said: false,
  watchdogs: false,
  atMs: receivedAtMs,
  triggers: [],
  metrics: {},
  reported: {},
  beat: undefined,
})

/** Notes contact: the server heard from the device on this connection. */
export function heard(presence: Presence, item: Item, reported: Reported): void {
  presence.said = true
  presence.seenMs = Math.max(presence.seenMs ?? 0, item.receivedAtMs)
  if (presence.triggers.at(-1) !== 'seen') presence.triggers.push('seen')
  presence.reported = { ...presence.reported, ...reported }
}

/** What is known of a device that was written. */
export interface Written {
  /** of the configuration that it is to have */
  configVersion: number
  /** it comes and goes */
  flapping: boolean
}

/**
 * Writes presence rows where the epoch is not below what is stored; time only moves forward, and not beyond the database's own.
 * Returns the devices that it was written for.
 *
 * What a gateway handed to a stream that then stood still may be read after what it carried up itself later, and everything may be
 * read twice. So what is said on the stored epoch counts only as long as that connection has not ended, and, unless it is that end,
 * only if it is not older than the last contact.
 *
 * @param fenced as of the inbox
 */
export async function writePresence(
  db: Db,
  all: readonly Presence[],
  { flapWithinMs, flapAfter }: Pick<Pipeline, 'flapWithinMs' | 'flapAfter'>,
  fenced = true,
): Promise<Map<string, Written>> {
  const counts = fenced
    ? db.sql`(p.epoch < b.epoch or (p.epoch = b.epoch and p.node is not null
      and (b.node is null or p.last_seen_at is null or to_timestamp(b.at) >= p.last_seen_at)))`
    : db.sql`true`
  // Said again, it is no other connection. Those that came long ago count no more.
  const isNew = db.sql`b.connects > 0 and p.epoch < b.epoch`
  const goesOn = db.sql`case when p.reconnects < ${flapAfter} then p.reconnects_since else p.reconnected_at end
    > now() - make_interval(secs => ${flapWithinMs / 1000}::float8)`
  const rows = await db.rows<Written & { deviceId: string }>`
    update device_presence p set epoch = b.epoch, node = b.node,
      reconnects = case when not (${isNew}) then p.reconnects when ${goesOn} then p.reconnects + b.connects else b.connects end,
      reconnects_since = case when not (${isNew}) or ${goesOn} then p.reconnects_since else now() end,
      reconnected_at = case when ${isNew} then now() else p.reconnected_at end,
      last_seen_at = case when b.seen is null then p.last_seen_at
        else greatest(p.last_seen_at, least(to_timestamp(b.seen), now())) end,
      cpu_percent = coalesce(b.cpu, p.cpu_percent), ram_percent = coalesce(b.ram, p.ram_percent),
      disk_percent = coalesce(b.disk, p.disk_percent), uptime_seconds = coalesce(b.uptime, p.uptime_seconds)
    from unnest(${plainArray(all.map((p) => p.deviceId))}::uuid[], ${plainArray(all.map((p) => p.epoch))}::bigint[],
      ${textArray(all.map((p) => p.node))}::text[],
      ${plainArray(all.map((p) => p.seenMs && p.seenMs / 1000))}::float8[],
      ${plainArray(all.map((p) => p.atMs / 1000))}::float8[],
      ${plainArray(all.map((p) => p.metrics.cpu))}::real[], ${plainArray(all.map((p) => p.metrics.ram))}::real[],
      ${plainArray(all.map((p) => p.metrics.disk))}::real[], ${plainArray(all.map((p) => p.metrics.uptime))}::bigint[],
      ${plainArray(all.map((p) => p.connects))}::int[])
      as b (id, epoch, node, seen, at, cpu, ram, disk, uptime, connects)
    where p.device_id = b.id and ${counts}
    returning p.device_id, p.config_version, b.connects > 0 and p.reconnects >= ${flapAfter} as flapping`
  return new Map(rows.map((row) => [row.deviceId, row]))
}

/** A device whose word was not taken. `epoch` undefined: there is no such device. */
export interface Refused {
  presence: Presence
  epoch: number | undefined
}

/** Of presences that were not written those for which a newer connection is known, or nothing is; the others just came late. */
export async function explainRefused(db: Db, refused: readonly Presence[]): Promise<Refused[]> {
  if (refused.length === 0) return []
  const rows = await db.rows<{ deviceId: string; epoch: number }>`
    select p.device_id, p.epoch from device_presence p
    where p.device_id = any(${plainArray(refused.map((p) => p.deviceId))}::uuid[])`
  const epochs = new Map(rows.map((row) => [row.deviceId, row.epoch]))
  return refused
    .map((presence) => ({ presence, epoch: epochs.get(presence.deviceId) }))
    .filter(({ presence, epoch }) => epoch === undefined || epoch > presence.epoch)
}

/** What the device rows make of it. */
export const contactOf = (
  { deviceId, epoch, triggers, reported }: Presence,
  { flapping }: Written,
): Contact => ({ deviceId, epoch, triggers, reported, flapping })
