import type { Db } from '../../../../kernel/tenancy.ts'

/** Whose members are reviewed: the partner's own and all of its organizations' (`orgId` null), or one organization's. */
export interface Reviewed {
  partnerId: string
  orgId: string | null
}

/** Who belongs to the partner, or to that organization, and whether they may manage all users that are reviewed. */
const members = (db: Db, { partnerId, orgId }: Reviewed) => db.sql`
  select m.user_id, m.role_id, m.org_access = 'all' as everywhere
  from partner_memberships m where ${db.visible('m')} and m.partner_id = ${partnerId}
  union all
  select m.user_id, m.role_id, m.site_ids is null and m.device_group_ids is null
  from organization_memberships m
  where ${db.visible('m')} and m.partner_id = ${partnerId} and m.org_id = ${orgId}::uuid`

/** Roles of the partner and its organizations that let their users manage users, by themselves or by a parent. */
const managing = (db: Db, partnerId: string) => db.sql`
  select p.role_id from role_permissions p
  where ${db.visible('p')} and p.partner_id = ${partnerId} and (p.resource, p.action) in (('users', 'write'), ('*', '*'))
  union
  select r.id from roles r join managing g on g.role_id = r.parent_role_id
  where ${db.visible('r')} and r.partner_id = ${partnerId}`

/** May this user manage them, of those whom the caller sees? Undefined: no member. */
export const findMember = (db: Db, reviewed: Reviewed, userId: string) => db.one<{ manages: boolean }>`
  with recursive managing as (${managing(db, reviewed.partnerId)})
  select bool_or(u.status = 'active' and m.everywhere and m.role_id in (select g.role_id from managing g)) as manages
  from (${members(db, reviewed)}) m join users u on u.id = m.user_id
  where u.id = ${userId} group by u.id`

/** Is there anybody else who may, of those whom the caller sees? */
export const findAnotherManager = (db: Db, reviewed: Reviewed, userId: string) => db.one<{ exists: boolean }>`
  with recursive managing as (${managing(db, reviewed.partnerId)})
  select exists (
    select from (${members(db, reviewed)}) m join users u on u.id = m.user_id
    where u.id <> ${userId} and u.status = 'active' and m.everywhere and m.role_id in (select g.role_id from managing g)) as exists`
