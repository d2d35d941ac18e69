import type { Fragment } from 'postgres'
import type { Db } from '../../kernel/tenancy.ts'
import { emitAll } from '../events/emit.ts'
import { withdrawAll } from '../work/cancel.ts'
import { endCredentials } from './credentials.ts'
import { eventsOf, type Subject } from './events.ts'
import { type Facts, step } from './states.ts'

/** A partner with all that is its, or one of its organizations. */
export interface Tenant {
  partnerId: string
  orgId?: string | undefined
}

/** What one statement takes at most: a tenant may have a hundred thousand devices. */
const atOnce = 1_000

const chunksOf = <T>(all: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(all.length / atOnce) }, (_, n) => all.slice(n * atOnce, (n + 1) * atOnce))

const of = (
  db: Db,
  { partnerId, orgId }: Tenant,
): Fragment => db.sql`${db.visible('d')} and d.partner_id = ${partnerId}
  ${orgId ? db.sql`and d.org_id = ${orgId}` : db.sql``} and d.lifecycle <> 'decommissioned'`

/** In the order of their ids, as everybody locks them who locks several. */
const lockDevices = (db: Db, tenant: Tenant) => db.rows<Subject & Facts>`
  select d.id, d.partner_id, d.org_id, d.lifecycle, d.connectivity, d.activity, d.in_maintenance
  from devices d where ${of(db, tenant)} order by d.id for no key update of d`

/** @param facts which are the same for all: a device out of service is in one state. */
const writeRetired = (db: Db, ids: readonly string[], facts: Facts) => db.run`
  update devices d set lifecycle = ${facts.lifecycle}, connectivity = ${facts.connectivity}, activity = ${facts.activity},
    in_maintenance = ${facts.inMaintenance}, decommissioned_at = now(), updated_at = now(),
    offline_seen_at = case when d.connectivity = 'online'
      then (select p.last_seen_at from device_presence p where p.device_id = d.id) else d.offline_seen_at end
  where ${db.visible('d')} and d.id = any (${[...ids]}::uuid[])`

/**
 * Takes all devices of a tenant out of service, in the transaction that gives the tenant up: their credentials die, what they were told
 * to do is withdrawn, their rows stay. After the commit call `tellFinished` with the commands.
 */
export async function retireDevices(
  db: Db,
  tenant: Tenant,
  why: string,
): Promise<{ devices: number; commands: string[] }> {
  const devices = await lockDevices(db, tenant)
  const commands: string[] = []
  for (const some of chunksOf(devices)) {
    const ids = some.map(({ id }) => id)
    const [first] = some
    if (first) await writeRetired(db, ids, retired(first))
    await endCredentials(db, ids, { reason: 'DECOMMISSIONED' })
    commands.push(...(await withdrawAll(db, ids, why)))
    emitAll(
      db,
      some.flatMap((device) => eventsOf(device, 'decommissioned', device, retired(device))),
    )
  }
  return { devices: devices.length, commands }
}

function retired(device: Subject & Facts): Facts {
  const after = step(device, 'decommissioned')
  if (!after) throw new Error(`device ${device.id} is ${device.lifecycle} and cannot be decommissioned`)
  return after
}

/**
 * Turns out every device of a tenant that is suspended, in that transaction. Their tokens stay: who comes back is told to wait (see
 * `listProfiles`), and is let in again when the tenant is.
 */
export async function turnOut(db: Db, tenant: Tenant): Promise<number> {
  const devices = await lockDevices(db, tenant)
  for (const some of chunksOf(devices)) {
    const ids = some.map(({ id }) => id)
    await endCredentials(db, ids, { reason: 'QUARANTINED', keepsToken: true })
  }
  return devices.length
}
