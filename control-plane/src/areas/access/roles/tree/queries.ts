import { plainArray } from '../../../../db/array-literal.ts'
import type { Db } from '../../../../kernel/tenancy.ts'

/** Whose roles: a partner's own level (`orgId` null) or one organization. */
export interface Owner {
  partnerId: string
  orgId: string | null
}

export interface TreeRow {
  id: string
  name: string
  parentRoleId: string | null
  forceMfa: boolean
  /** `resource:action` each */
  rights: string[]
}

/** Who calls was found out before: whoever lost a right while they waited must not use it after the five seconds of P7. */
const waitAtMost = '2s'

/**
 * One change of who may do what in a partner at a time: what it was judged by is still so when it is committed. Waits for others,
 * and ends with the transaction.
 *
 * @throws PostgresError 55P03 (503) for who has waited too long, and held a connection that others need
 */
export async function lockStanding(db: Db, partnerId: string): Promise<void> {
  db.later`select set_config('lock_timeout', ${waitAtMost}, true)`
  await db.one`select pg_advisory_xact_lock(hashtextextended('svc.standing ' || ${partnerId}, 0))`
  db.later`select set_config('lock_timeout', '0', true)`
}

export const listTree = (db: Db, { partnerId, orgId }: Owner) => db.rows<TreeRow>`
  select r.id, r.name, r.parent_role_id, r.force_mfa, coalesce((select array_agg(p.resource || ':' || p.action)
      from role_permissions p where p.role_id = r.id and ${db.visible('p')}), '{}') as rights
  from roles r
  where ${db.visible('r')} and r.partner_id = ${partnerId} and r.org_id is not distinct from ${orgId}::uuid`

/** Whose role that is, if the caller sees it and it did not go with its organization. */
export const findOwner = (db: Db, roleId: string) => db.one<Owner>`
  select r.partner_id, r.org_id from roles r
  where ${db.visible('r')} and r.id = ${roleId} and ${db.living('r')}`

/** All that each of these roles gives, inherited rights included; no row of one that gives nothing or is not seen. */
export const listRights = (db: Db, roleIds: readonly string[]) => db.rows<{
  roleId: string
  rights: string[]
}>`
  with recursive chain as (
    select r.id as holder, r.id, r.parent_role_id from roles r
    where ${db.visible('r')} and r.id = any (${plainArray(roleIds)}::uuid[])
    union
    select c.holder, r.id, r.parent_role_id from chain c join roles r on r.id = c.parent_role_id where ${db.visible('r')})
  select c.holder as role_id, array_agg(distinct p.resource || ':' || p.action) as rights
  from chain c join role_permissions p on p.role_id = c.id
  where ${db.visible('p')} group by c.holder`

/**
 * Does anybody remain at the partner's own level who is active, sees all of it, and holds everything?
 *
 * @param leaving users who are about to be no members of it any more
 */
export const findAdministrator = (db: Db, partnerId: string, leaving: readonly string[]) => db.one<{
  remains: boolean
}>`
  with recursive full_access as (
    select p.role_id from role_permissions p
    where ${db.visible('p')} and p.partner_id = ${partnerId} and p.org_id is null and p.resource = '*' and p.action = '*'
    union
    select r.id from roles r join full_access f on f.role_id = r.parent_role_id
    where ${db.visible('r')} and r.partner_id = ${partnerId})
  select exists (
    select from partner_memberships m join users u on u.id = m.user_id
    where ${db.visible('m')} and m.partner_id = ${partnerId} and m.org_access = 'all' and u.status = 'active'
      and m.role_id in (select f.role_id from full_access f)
      and m.user_id <> all (${plainArray(leaving)}::uuid[])) as remains`
