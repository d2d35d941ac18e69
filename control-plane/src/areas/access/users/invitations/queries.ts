import type { Db } from '../../../../kernel/tenancy.ts'
import type { UserRow } from '../queries.ts'
import type { InviteUser, Membership, UserFilter } from '../schema.ts'

/** Whom the caller's tenant has invited, and who has not accepted: what the inviter typed, and nothing of whoever has the address. */
const columns = (db: Db) => db.sql`
  i.id, i.email, i.name, i.status, null::text as avatar_url, false as mfa_enabled, null::text as mfa_method, false as phone_verified,
  null::text as phone_last4, null::timestamptz as last_login_at, null::timestamptz as password_changed_at, i.created_at, i.updated_at,
  jsonb_build_array(jsonb_build_object('partnerId', i.partner_id, 'orgId', i.org_id, 'roleId', i.role_id, 'roleName', r.name,
    'orgAccess', i.org_access, 'orgIds', case when i.org_access = 'selected' then i.org_ids end, 'siteIds', i.site_ids,
    'deviceGroupIds', i.device_group_ids)) as memberships`

/** As rows of a list of users; `from` and `where` of what else it asks. */
export const invitedRows = (db: Db) => db.sql`
  select ${columns(db)} from invitations i join roles r on r.id = i.role_id
  where ${db.visible('i')} and ${db.living('i')} and ${db.visible('r')}`

/** Keys of those that a list of users shows. */
export const invitedKeys = (db: Db, filter: UserFilter) => db.sql`
  select i.id, i.created_at, true as pending from invitations i
  where ${db.visible('i')} and ${db.living('i')}
    ${filter.orgId ? db.sql`and i.org_id = ${filter.orgId}` : db.sql``}
    ${filter.roleId ? db.sql`and i.role_id = ${filter.roleId}` : db.sql``}
    ${filter.status ? db.sql`and i.status = ${filter.status}` : db.sql``}
    ${
      filter.search
        ? db.sql`and (strpos(lower(i.name), lower(${filter.search})) > 0 or strpos(i.email, lower(${filter.search})) > 0)`
        : db.sql``
    }`

export const findInvited = (db: Db, id: string) => db.one<UserRow>`
  select ${columns(db)} from invitations i join roles r on r.id = i.role_id
  where ${db.visible('i')} and ${db.living('i')} and ${db.visible('r')} and i.id = ${id}`

type Place = Pick<Membership, 'partnerId' | 'orgId'>

/** Is somebody with this address a member there? Of a place that the caller sees. */
export const isMember = async (db: Db, email: string, { partnerId, orgId }: Place): Promise<boolean> =>
  (orgId === null
    ? await db.one`select from partner_memberships m join users u on u.id = m.user_id
        where ${db.visible('m')} and m.partner_id = ${partnerId} and u.email = ${email}`
    : await db.one`select from organization_memberships m join users u on u.id = m.user_id
        where ${db.visible('m')} and m.org_id = ${orgId} and u.email = ${email}`) !== undefined

/** A link of an invitation, as it is kept. */
interface Link {
  hash: Buffer
  until: Date
}

/** None: the address is invited there already. */
export const insertInvitation = (
  db: Db,
  { id, partnerId, orgId, at }: Place & { id: string; at: Date },
  body: InviteUser,
  link: Link,
) => db.run`
  insert into invitations (id, partner_id, org_id, email, name, role_id, org_access, org_ids, site_ids, device_group_ids, token_hash,
    expires_at, created_at, updated_at)
  values (${id}, ${partnerId}, ${orgId}, ${body.email}, ${body.name}, ${body.roleId}, ${body.orgAccess ?? null},
    ${body.orgIds ?? []}::uuid[], ${body.siteIds ?? null}::uuid[], ${body.deviceGroupIds ?? null}::uuid[], ${link.hash}, ${link.until},
    ${at}, ${at})
  on conflict do nothing`

/** The link before is void. Nothing is changed where it was accepted since it was looked up. */
export const replaceLink = (db: Db, id: string, link: Link) => db.run`
  update invitations i set token_hash = ${link.hash}, expires_at = ${link.until} where ${db.visible('i')} and i.id = ${id}`

/** What is undefined stays. */
export const updateInvitation = (
  db: Db,
  id: string,
  { name, status }: { name?: string | undefined; status?: 'invited' | 'disabled' | undefined },
  at: Date,
) => db.run`
  update invitations i set name = coalesce(${name ?? null}::text, i.name), status = coalesce(${status ?? null}::text, i.status),
    updated_at = ${at}
  where ${db.visible('i')} and i.id = ${id}`

export const setInvitedRole = (db: Db, id: string, roleId: string) => db.run`
  update invitations i set role_id = ${roleId} where ${db.visible('i')} and i.id = ${id}`

/** Its link is void with it. Nothing is deleted where it was accepted since it was looked up. */
export const deleteInvitation = (db: Db, id: string) => db.run`
  delete from invitations i where ${db.visible('i')} and i.id = ${id}`
