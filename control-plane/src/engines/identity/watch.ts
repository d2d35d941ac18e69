import { plainArray } from '../../db/array-literal.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { type Quarantined, quarantineAlive } from './quarantine.ts'
import { type Known, seeAll, type Sighting } from './sighting.ts'

/** Shown to whoever looks at the device. */
export const twoAgents = 'two agents take turns as this device: one of them is a copy'

const listKnown = (db: Db, ids: readonly string[]) => db.rows<Known & { alive: boolean }>`
  select d.id as device_id, coalesce(i.epoch, 0) as epoch, i.present, i.unnamed_epoch, i.unnamed_ms, i.earlier, i.returns,
    d.lifecycle in ('pending', 'active') as alive
  from devices d left join device_instances i on i.device_id = d.id and ${db.visibleDevice('i', 'device_id')}
  where d.id = any (${plainArray(ids)}::uuid[]) and ${db.visibleDevice('d')}`

/** Two that look at the same connections write the same; of different ones, the later connection counts. */
function writeKnown(db: Db, changed: readonly Known[]): void {
  if (changed.length === 0) return
  const rows = changed
    .toSorted((a, b) => (a.deviceId < b.deviceId ? -1 : 1))
    .map(({ deviceId, epoch, present, unnamedEpoch, unnamedMs, earlier, returns }) => ({
      device_id: deviceId,
      epoch,
      present,
      unnamed_epoch: unnamedEpoch,
      unnamed_ms: unnamedMs,
      earlier,
      returns,
    }))
  db.later`
    insert into device_instances as i (device_id, partner_id, org_id, epoch, present, unnamed_epoch, unnamed_ms, earlier, returns)
    select d.id, d.partner_id, d.org_id, r.epoch, r.present, r.unnamed_epoch, r.unnamed_ms, r.earlier, r.returns
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as r (device_id uuid, epoch bigint, present text,
      unnamed_epoch bigint, unnamed_ms bigint, earlier jsonb, returns bigint[])
    join devices d on d.id = r.device_id and ${db.visibleDevice('d')}
    on conflict (device_id) do update set epoch = excluded.epoch, present = excluded.present,
      unnamed_epoch = excluded.unnamed_epoch, unnamed_ms = excluded.unnamed_ms, earlier = excluded.earlier,
      returns = excluded.returns
    where i.epoch <= excluded.epoch`
}

/** Whoever leaves quarantine begins anew. */
export const forgetInstances = (db: Db, deviceId: string) => db.run`
  delete from device_instances i where i.device_id = ${deviceId}::uuid and ${db.visibleDevice('i', 'device_id')}`

/**
 * Looks at who connected as whom, in this transaction, and quarantines devices of which there are two. Costs one question for a batch in
 * which somebody connected, and a write only where it was another process than before. Connections come here after they were admitted:
 * nobody who is not known can say anything about a device.
 */
export async function watchInstances(db: Db, sightings: readonly Sighting[]): Promise<Quarantined[]> {
  if (sightings.length === 0) return []
  const byDevice = new Map<string, Sighting[]>()
  for (const one of sightings) byDevice.set(one.deviceId, [...(byDevice.get(one.deviceId) ?? []), one])
  const changed: Known[] = []
  const copied: string[] = []
  for (const { alive, ...row } of await listKnown(db, [...byDevice.keys()])) {
    const before = row.epoch > 0 ? row : undefined
    const { known, two } = seeAll(before, byDevice.get(row.deviceId) ?? [])
    if (two && alive) copied.push(row.deviceId)
    if (known && known !== before) changed.push(known)
  }
  writeKnown(db, changed)
  const done: Quarantined[] = []
  for (const id of copied.toSorted()) {
    const one = await quarantineAlive(db, id, twoAgents)
    if (one) done.push(one)
  }
  return done
}
