import type { Page } from '../../../../kernel/page.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import type { Group, GroupFilter } from './schema.ts'

/** Counted as they are seen: who is limited to some sites counts those alone. */
const deviceCount = (db: Db) => db.sql`
  (select count(*)::int from device_group_members m join devices d on d.id = m.device_id
    where m.group_id = g.id and ${db.visible('m')} and ${db.visibleDevice('d')} and d.lifecycle <> 'decommissioned')`

const columns = (db: Db) =>
  db.sql`g.id, g.org_id, g.name, g.kind as type, ${deviceCount(db)} as device_count, g.created_at, g.updated_at`

/** A group that the caller sees, and that did not go with its organization. */
const seen = (db: Db) => db.sql`${db.visibleGroup('g')} and ${db.living('g')}`

/** LIKE's own characters are taken literally. */
const contains = (text: string) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`

export const listGroups = (db: Db, { orgId, search }: GroupFilter, page: Page) => db.rows<Group>`
  select ${columns(db)} from device_groups g
  where ${seen(db)}
    ${orgId ? db.sql`and g.org_id = ${orgId}` : db.sql``}
    ${search ? db.sql`and g.name ilike ${contains(search)}` : db.sql``}
    ${page.after('g')}
  order by g.created_at desc, g.id desc
  limit ${page.take}`

export const findGroup = (db: Db, id: string) => db.one<Group>`
  select ${columns(db)} from device_groups g where ${seen(db)} and g.id = ${id}`

/** What there is to know of a group before its members change. */
export interface GroupOwner {
  id: string
  partnerId: string
  orgId: string
  name: string
}

export const findOwner = (db: Db, id: string) => db.one<GroupOwner>`
  select g.id, g.partner_id, g.org_id, g.name from device_groups g where ${seen(db)} and g.id = ${id}`

/** The group stays there until the transaction ends. */
export const holdGroup = (db: Db, id: string) => db.one<GroupOwner>`
  select g.id, g.partner_id, g.org_id, g.name from device_groups g
  where ${seen(db)} and g.id = ${id} for key share of g`

/** Its row is held until the transaction ends: whoever changes its members waits. */
export const lockGroup = (db: Db, id: string) => db.one<GroupOwner>`
  select g.id, g.partner_id, g.org_id, g.name from device_groups g
  where ${seen(db)} and g.id = ${id} for update of g`

/** Nothing comes back when the organization already has a group of this name. */
export const insertGroup = (db: Db, group: GroupOwner) => db.one<Group>`
  insert into device_groups as g (id, partner_id, org_id, name)
  values (${group.id}, ${group.partnerId}, ${group.orgId}, ${group.name})
  on conflict (partner_id, org_id, lower(name)) do nothing
  returning ${columns(db)}`

export const isNameTaken = async (db: Db, { id, orgId }: GroupOwner, name: string): Promise<boolean> =>
  (await db.one`
    select from device_groups g
    where ${db.visible('g')} and g.org_id = ${orgId} and lower(g.name) = lower(${name}) and g.id <> ${id}`) !==
  undefined

export const renameGroup = (db: Db, id: string, name: string) => db.one<Group>`
  update device_groups g set name = ${name}, updated_at = now()
  where ${db.visibleGroup('g')} and g.id = ${id}
  returning ${columns(db)}`

/** How many devices are in a group, and how many memberships are limited to it: for the audit row of its end. */
export const countUses = (db: Db, id: string) => db.one<{ devices: number; memberships: number }>`
  select
    (select count(*)::int from device_group_members m where ${db.visible('m')} and m.group_id = ${id}) as devices,
    (select count(*)::int from organization_memberships o where ${db.visible('o')} and ${id}::uuid = any (o.device_group_ids))
      as memberships`

/** With its members and its log. Memberships keep its id, which lets see nothing from here on. */
export const deleteGroup = (db: Db, id: string) => db.run`
  delete from device_groups g where ${db.visibleGroup('g')} and g.id = ${id}`
