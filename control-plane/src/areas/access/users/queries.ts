import { plainArray } from '../../../db/array-literal.ts'
import type { Page } from '../../../kernel/page.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import { invitedKeys, invitedRows } from './invitations/queries.ts'
import type { Membership, RoleWithUsers, User, UserFilter } from './schema.ts'

/** A user without what is told twice: the first membership. */
export type UserRow = Omit<User, keyof Membership>

/** Every membership that the caller sees, of either kind; those in deleted organizations are over. */
const memberships = (db: Db) => db.sql`
  select m.user_id, m.partner_id, null::uuid as org_id, m.role_id, m.org_access, m.org_ids, null::uuid[] as site_ids,
    null::uuid[] as device_group_ids, m.created_at
  from partner_memberships m where ${db.visible('m')}
  union all
  select m.user_id, m.partner_id, m.org_id, m.role_id, null, null, m.site_ids, m.device_group_ids, m.created_at
  from organization_memberships m join organizations o on o.id = m.org_id
  where ${db.visible('m')} and o.deleted_at is null`

const columns = (db: Db) => db.sql`
  u.id, u.email, u.name, u.status, u.avatar_url, u.mfa_method is not null as mfa_enabled, u.mfa_method, u.phone_verified,
  right(u.phone_number, 4) as phone_last4, u.last_login_at, u.password_changed_at, u.created_at, u.updated_at, (
    select jsonb_agg(jsonb_build_object('partnerId', m.partner_id, 'orgId', m.org_id, 'roleId', m.role_id, 'roleName', r.name,
        'orgAccess', m.org_access, 'orgIds', case when m.org_access = 'selected' then m.org_ids end, 'siteIds', m.site_ids,
        'deviceGroupIds', m.device_group_ids) order by m.org_id is not null, m.created_at, m.org_id)
    from (${memberships(db)}) m join roles r on r.id = m.role_id
    where m.user_id = u.id) as memberships`

/** Which first, then what is told of them: it is costly, and there may be thousands. */
export const listUsers = (db: Db, filter: UserFilter, page: Page) => db.rows<UserRow>`
  with k as (
    select k.* from (${memberKeys(db, filter)} union all ${invitedKeys(db, filter)}) k
    where true ${page.after('k')}
    order by k.created_at desc, k.id desc
    limit ${page.take})
  select x.* from k cross join lateral (
    select ${columns(db)} from users u where u.id = k.id and not k.pending
    union all
    ${invitedRows(db)} and i.id = k.id and k.pending) x
  order by k.created_at desc, k.id desc`

const memberKeys = (db: Db, filter: UserFilter) => db.sql`
  select u.id, u.created_at, false as pending from users u
  where u.id in (select m.user_id from (${memberships(db)}) m where true
      ${filter.orgId ? db.sql`and m.org_id = ${filter.orgId}` : db.sql``}
      ${filter.roleId ? db.sql`and m.role_id = ${filter.roleId}` : db.sql``})
    ${filter.status ? db.sql`and u.status = ${filter.status}` : db.sql``}
    ${
      filter.search
        ? db.sql`and (strpos(lower(u.name), lower(${filter.search})) > 0 or strpos(u.email, lower(${filter.search})) > 0)`
        : db.sql``
    }`

export const findUser = (db: Db, id: string) => db.one<UserRow>`
  select ${columns(db)} from users u
  where u.id = ${id} and exists (select from (${memberships(db)}) m where m.user_id = u.id)`

/** Who has role `r`, or is invited to it. */
const holders = (db: Db) => db.sql`
  select u.id, u.email, u.name, u.status from (${memberships(db)}) m join users u on u.id = m.user_id
  where m.partner_id = r.partner_id and m.role_id = r.id
  union all
  select i.id, i.email, i.name, i.status from invitations i
  where ${db.visible('i')} and ${db.living('i')} and i.partner_id = r.partner_id and i.role_id = r.id`

/** @param most users of each role */
export const listRolesWithUsers = (
  db: Db,
  orgId: string | undefined,
  most: number,
  page: Page,
) => db.rows<RoleWithUsers>`
  select r.id, r.partner_id, r.org_id, r.parent_role_id, r.scope, r.name, r.description, r.is_system, r.force_mfa, r.created_at,
    r.updated_at, (select count(*) from (${holders(db)}) h) as user_count, coalesce((
      select jsonb_agg(jsonb_build_object('id', f.id, 'email', f.email, 'name', f.name, 'status', f.status) order by f.name, f.id)
      from (${holders(db)} order by name, id limit ${most}) f), '[]') as users
  from roles r
  where ${db.visible('r')} and ${db.living('r')}
    ${orgId ? db.sql`and r.org_id = ${orgId}` : db.sql``} ${page.after('r')}
  order by r.created_at desc, r.id desc
  limit ${page.take}`

/** Name or status by a tenant; `changed` false: the account is not this tenant's alone. `orgId` null: the caller sees all of the partner. */
export const changeAccount = (
  db: Db,
  id: string,
  tenant: { partnerId: string; orgId: string | null },
  { name, status }: { name?: string | undefined; status?: string | undefined },
  at: Date,
) => db.one<{ changed: boolean }>`
  select change_account(${id}, ${tenant.partnerId}, ${tenant.orgId}::uuid, ${name ?? null}::text, ${status ?? null}::text, ${at})
    as changed`

/** All tokens of the user die. */
export const endSessions = (db: Db, id: string, reason: string, at: Date) =>
  db.one`select end_sessions(${id}, ${reason}, ${at})`

type Place = Pick<Membership, 'partnerId' | 'orgId'>

/** Places of users, as a table of three columns. */
const listed = ({ sql }: Db, places: readonly (Place & { userId: string })[]) => sql`
  unnest(${plainArray(places.map(({ userId }) => userId))}::uuid[], ${plainArray(places.map(({ partnerId }) => partnerId))}::uuid[],
    ${plainArray(places.map(({ orgId }) => orgId))}::uuid[]) as e (user_id, partner_id, org_id)`

export const endMembershipSessions = (
  db: Db,
  places: readonly (Place & { userId: string })[],
  reason: string,
  at: Date,
) => db.run`
  select end_membership_sessions(e.user_id, e.partner_id, e.org_id, ${reason}, ${at}) from ${listed(db, places)}`

export async function deleteMemberships(
  db: Db,
  places: readonly (Place & { userId: string })[],
): Promise<void> {
  await db.run`
    delete from partner_memberships m using ${listed(db, places)}
    where ${db.visible('m')} and e.org_id is null and m.user_id = e.user_id and m.partner_id = e.partner_id`
  await db.run`
    delete from organization_memberships m using ${listed(db, places)}
    where ${db.visible('m')} and m.user_id = e.user_id and m.partner_id = e.partner_id and m.org_id = e.org_id`
}

export const setRole = (db: Db, userId: string, { partnerId, orgId }: Place, roleId: string) =>
  orgId === null
    ? db.run`update partner_memberships m set role_id = ${roleId}
        where ${db.visible('m')} and m.user_id = ${userId} and m.partner_id = ${partnerId}`
    : db.run`update organization_memberships m set role_id = ${roleId}
        where ${db.visible('m')} and m.user_id = ${userId} and m.org_id = ${orgId}`
