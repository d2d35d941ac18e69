import type { svc } from '@svc/proto'
import { bytesArray, plainArray } from '../db/array-literal.ts'
import type { Connection } from '../engines/work/deliver.ts'
import type { Db } from '../kernel/tenancy.ts'
import type { Item } from './item.ts'
import { writeDisks, writeHardware, writeSystems } from './inventory-rows.ts'
import type { Owner, Row } from './inventory-values.ts'
import { writeNetworks } from './network-rows.ts'
import { writeSoftware } from './software-rows.ts'

/** What becomes of each kind. The order of this list is the order in which they are written. */
const writers = {
  hardware: writeHardware,
  os: writeSystems,
  disks: writeDisks,
  network: writeNetworks,
  software: writeSoftware,
} satisfies {
  [K in NonNullable<svc.v1.Inventory['payload']>]: (db: Db, rows: readonly Row[]) => Promise<void>
}

type Kind = keyof typeof writers
const kinds = Object.keys(writers) as Kind[]

/** One inventory of one device, whole. */
export interface ReportedInventory {
  from: Connection
  kind: Kind
  hash: Uint8Array
  collectedAtMs: number
  /** by the gateway's clock */
  receivedAtMs: number
  payload: svc.v1.IInventory
}

/** SHA-256. */
const hashBytes = 32

/** The last inventory of each kind and device; earlier ones of the batch are outdated. Malformed ones are left out. */
export function inventoriesReported(items: readonly Item[]): ReportedInventory[] {
  const latest = new Map<string, ReportedInventory>()
  for (const { node, deviceId, epoch, receivedAtMs, up } of items) {
    const { inventory } = up
    const kind = inventory && kinds.find((name) => inventory[name])
    if (!inventory || !kind || inventory.hash?.length !== hashBytes) continue
    const collectedAtMs = collected(inventory, receivedAtMs)
    const from = { deviceId, node, epoch }
    const { hash } = inventory
    latest.set(`${deviceId} ${kind}`, { from, kind, hash, collectedAtMs, receivedAtMs, payload: inventory })
  }
  return [...latest.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** By the device's own clock, and never later than it came. A time that no clock shows is not one. */
const collected = ({ collectedAtMs }: svc.v1.IInventory, receivedAtMs: number) =>
  collectedAtMs && collectedAtMs > 0 ? Math.min(collectedAtMs, receivedAtMs) : receivedAtMs

const key = ({ from, kind }: ReportedInventory) => `${from.deviceId} ${kind}`

/**
 * Writes what differs from what is known; an unchanged inventory costs no write. Returns what may be acknowledged: not what came
 * on a replaced connection, which the device says again on its new one, and not what another one has overtaken on its way here.
 */
export async function applyInventories(
  db: Db,
  all: readonly ReportedInventory[],
): Promise<ReportedInventory[]> {
  if (all.length === 0) return []
  const known = await db.rows<Owner & { position: number; changed: boolean }>`
    select b.position::int, d.id as device_id, d.partner_id, d.org_id, i.hash is distinct from b.hash as changed
    from unnest(${plainArray(all.map((one) => one.from.deviceId))}::uuid[], ${plainArray(all.map((one) => one.kind))}::text[],
      ${bytesArray(all.map((one) => one.hash))}::bytea[], ${plainArray(all.map((one) => one.from.epoch))}::bigint[])
      with ordinality as b (device_id, kind, hash, epoch, position)
    join devices d on d.id = b.device_id and d.lifecycle <> 'decommissioned'
    join device_presence p on p.device_id = b.device_id and p.epoch <= b.epoch
    left join device_inventory i on i.device_id = b.device_id and i.kind = b.kind
    order by b.position`
  const taken = known.flatMap(({ position, changed, ...owner }) => {
    const inventory = all[position - 1]
    return inventory ? [{ inventory, changed, owner }] : []
  })
  const changed = taken.filter((one) => one.changed)
  const written = new Set(await writeChanged(db, changed))
  return taken.filter((one) => !one.changed || written.has(key(one.inventory))).map((one) => one.inventory)
}

/** Returns the keys of what was written: of two inventories the one that was received later stays. */
async function writeChanged(
  db: Db,
  changed: readonly { inventory: ReportedInventory; owner: Owner }[],
): Promise<string[]> {
  if (changed.length === 0) return []
  const said = changed.map(({ inventory, owner }) => ({ ...owner, ...inventory }))
  const newest = await insertNewest(db, said)
  const rows = said.filter((row) => newest.has(key(row)))
  for (const kind of kinds) {
    const those = rows.filter((row) => row.kind === kind)
    if (those.length > 0) await writers[kind](db, those)
  }
  return [...newest]
}

async function insertNewest(
  db: Db,
  rows: readonly (Owner & Omit<ReportedInventory, 'payload'>)[],
): Promise<Set<string>> {
  const written = await db.rows<{ deviceId: string; kind: string }>`
    insert into device_inventory as i (device_id, partner_id, org_id, kind, hash, collected_at, received_at)
    select b.device_id, b.partner_id, b.org_id, b.kind, b.hash, to_timestamp(b.collected),
      least(to_timestamp(b.received), now())
    from unnest(${plainArray(rows.map((r) => r.deviceId))}::uuid[], ${plainArray(rows.map((r) => r.partnerId))}::uuid[],
      ${plainArray(rows.map((r) => r.orgId))}::uuid[], ${plainArray(rows.map((r) => r.kind))}::text[],
      ${bytesArray(rows.map((r) => r.hash))}::bytea[], ${plainArray(rows.map((r) => r.collectedAtMs / 1000))}::float8[],
      ${plainArray(rows.map((r) => r.receivedAtMs / 1000))}::float8[])
      as b (device_id, partner_id, org_id, kind, hash, collected, received)
    on conflict (device_id, kind) do update
      set hash = excluded.hash, collected_at = excluded.collected_at, received_at = excluded.received_at
      where i.received_at <= excluded.received_at
    returning i.device_id, i.kind`
  return new Set(written.map((row) => `${row.deviceId} ${row.kind}`))
}
