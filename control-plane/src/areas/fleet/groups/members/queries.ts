import type { Page } from '../../../../kernel/page.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import type { GroupDevice, GroupDeviceFilter, MembershipChange, MembershipLogFilter } from './schema.ts'

export const listMembers = (
  db: Db,
  groupId: string,
  { includeDecommissioned }: GroupDeviceFilter,
  page: Page,
) => db.rows<GroupDevice>`
  select x.* from (
    select m.device_id as id, d.site_id, d.hostname, d.display_name, d.os_type, d.status, m.added_at
    from device_group_members m join devices d on d.id = m.device_id
    where m.group_id = ${groupId} and ${db.visibleGroup('m', 'group_id')} and ${db.visibleDevice('d')}
      ${includeDecommissioned ? db.sql`` : db.sql`and d.lifecycle <> 'decommissioned'`}
  ) x
  where true ${page.after('x')}
  order by x.added_at desc, x.id desc
  limit ${page.take}`

export const listChanges = (
  db: Db,
  groupId: string,
  { deviceId, action }: MembershipLogFilter,
  page: Page,
) => db.rows<MembershipChange>`
  select l.id, l.group_id, l.device_id, d.hostname, d.display_name, l.action, l.reason, l.created_at
  from device_group_log l join devices d on d.id = l.device_id
  where l.group_id = ${groupId} and ${db.visibleGroup('l', 'group_id')} and ${db.visibleDevice('d')}
    ${deviceId ? db.sql`and l.device_id = ${deviceId}` : db.sql``}
    ${action ? db.sql`and l.action = ${action}` : db.sql``}
    ${page.after('l')}
  order by l.created_at desc, l.id desc
  limit ${page.take}`

/** Those of the ids that name devices of this organization which the caller sees. */
export const knownDevices = (db: Db, orgId: string, ids: readonly string[]) => db.rows<{ id: string }>`
  select d.id from devices d where ${db.visibleDevice('d')} and d.org_id = ${orgId} and d.id = any (${[...ids]}::uuid[])`

/**
 * Devices join a group of their organization, and its log says so; back comes who was not in it. In the order of ids: two that add the
 * same devices wait for each other, never both.
 */
export const insertMembers = (
  db: Db,
  group: { id: string; orgId: string },
  ids: readonly string[],
) => db.rows<{ deviceId: string }>`
  with added as (
    insert into device_group_members (group_id, device_id, partner_id, org_id)
    select ${group.id}, d.id, d.partner_id, d.org_id from devices d
    where ${db.visibleDevice('d')} and d.org_id = ${group.orgId} and d.id = any (${[...ids]}::uuid[])
    order by d.id
    on conflict do nothing
    returning group_id, device_id, partner_id, org_id
  )
  insert into device_group_log (id, partner_id, org_id, group_id, device_id, action, reason)
  select gen_random_uuid(), a.partner_id, a.org_id, a.group_id, a.device_id, 'added', 'manual' from added a
  returning device_id`

/** The device leaves the group, and its log says so; nothing comes back when it was not in it. */
export const deleteMember = (db: Db, groupId: string, deviceId: string) => db.one<{ deviceId: string }>`
  with removed as (
    delete from device_group_members m
    where m.group_id = ${groupId} and m.device_id = ${deviceId} and ${db.visibleGroup('m', 'group_id')}
      and ${db.visibleDevice('m', 'device_id')}
    returning m.group_id, m.device_id, m.partner_id, m.org_id
  )
  insert into device_group_log (id, partner_id, org_id, group_id, device_id, action, reason)
  select gen_random_uuid(), r.partner_id, r.org_id, r.group_id, r.device_id, 'removed', 'manual' from removed r
  returning device_id`
