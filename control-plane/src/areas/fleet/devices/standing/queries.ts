import type { Db } from '../../../../kernel/tenancy.ts'

/** A device that is about to change its standing. */
export interface StandingDevice {
  id: string
  partnerId: string
  orgId: string
  siteId: string
  hostname: string
  lifecycle: string
}

/** Nothing is accepted for the device from here on, until the transaction ends: whoever sends it a command waits. */
export const lockDevice = (db: Db, id: string) => db.one<StandingDevice>`
  select d.id, d.partner_id, d.org_id, d.site_id, d.hostname, d.lifecycle from devices d
  where d.id = ${id} and ${db.visibleDevice('d')} for update of d`

export const clearQuarantine = (db: Db, id: string) => db.run`
  update devices d set quarantined_at = null, quarantine_reason = null
  where d.id = ${id} and ${db.visibleDevice('d')}`

/** Groups are of one organization: the device leaves those that it is in, and their logs say so. */
export const leaveGroups = (db: Db, id: string) => db.rows<{ groupId: string }>`
  with removed as (
    delete from device_group_members m where m.device_id = ${id} and ${db.visibleDevice('m', 'device_id')}
    returning m.group_id, m.device_id, m.partner_id, m.org_id
  )
  insert into device_group_log (id, partner_id, org_id, group_id, device_id, action, reason)
  select gen_random_uuid(), r.partner_id, r.org_id, r.group_id, r.device_id, 'removed', 'moved' from removed r
  returning group_id`

export interface Place {
  orgId: string
  siteId: string
}

/** What the device reported goes along by its foreign keys; what happened stays where it happened. */
export const relocate = (db: Db, id: string, { orgId, siteId }: Place) => db.run`
  update devices d set org_id = ${orgId}, site_id = ${siteId}, enrollment_key_id = null, updated_at = now()
  where d.id = ${id} and ${db.visibleDevice('d')}`

/** The one child without a foreign key: it is written with each heartbeat. This row before that of the device: so do heartbeats. */
export const relocatePresence = (db: Db, id: string, orgId: string) => db.run`
  update device_presence p set org_id = ${orgId} where p.device_id = ${id} and ${db.visibleDevice('p', 'device_id')}`
