import { textArray } from '../../../db/array-literal.ts'
import type { Page } from '../../../kernel/page.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import type { Role, RoleDetail, RoleFilter, RoleUser } from './schema.ts'

/** Memberships of role `r`, of either kind, and invitations to it: ids of users, and of what stands for them until they accept. */
const holders = (db: Db) => db.sql`
  select m.user_id, false as pending from partner_memberships m
  where ${db.visible('m')} and m.partner_id = r.partner_id and m.role_id = r.id
  union all
  select m.user_id, false from organization_memberships m
  where ${db.visible('m')} and m.partner_id = r.partner_id and m.role_id = r.id
  union all
  select i.id, true from invitations i
  where ${db.visible('i')} and i.partner_id = r.partner_id and i.role_id = r.id`

/** A role that the caller sees, and that did not go with its organization. */
const living = (db: Db) => db.sql`${db.visible('r')} and ${db.living('r')}`

const columns = (db: Db) => db.sql`
  r.id, r.partner_id, r.org_id, r.parent_role_id, r.scope, r.name, r.description, r.is_system, r.force_mfa, r.created_at,
  r.updated_at, (select count(*) from (${holders(db)}) h) as user_count`

export const listRoles = (db: Db, filter: RoleFilter, page: Page) => db.rows<Role>`
  select ${columns(db)} from roles r
  where ${living(db)}
    ${filter.scope ? db.sql`and r.scope = ${filter.scope}` : db.sql``}
    ${filter.orgId ? db.sql`and r.org_id = ${filter.orgId}` : db.sql``}
    ${filter.search ? db.sql`and strpos(lower(r.name), lower(${filter.search})) > 0` : db.sql``}
    ${page.after('r')}
  order by r.created_at desc, r.id desc
  limit ${page.take}`

export const findRole = (db: Db, id: string) => db.one<RoleDetail>`
  select ${columns(db)}, coalesce((
    select jsonb_agg(jsonb_build_object('resource', p.resource, 'action', p.action) order by p.resource, p.action)
    from role_permissions p where ${db.visible('p')} and p.role_id = r.id), '[]') as permissions
  from roles r where ${living(db)} and r.id = ${id}`

export const listRoleUsers = (db: Db, roleId: string, page: Page) => db.rows<RoleUser>`
  select u.id, u.email, u.name, u.status, u.created_at
  from roles r, lateral (${holders(db)}) h, lateral (
    select p.id, p.email, p.name, p.status, p.created_at from users p where p.id = h.user_id and not h.pending
    union all
    select i.id, i.email, i.name, i.status, i.created_at from invitations i
    where ${db.visible('i')} and i.id = h.user_id and h.pending) u
  where ${living(db)} and r.id = ${roleId} ${page.after('u')}
  order by u.created_at desc, u.id desc
  limit ${page.take}`

/** What stands under a role and keeps it from being deleted. */
export const countUses = (db: Db, id: string) => db.one<{ userCount: number; childRoleCount: number }>`
  select (select count(*) from (${holders(db)}) h) as user_count,
    (select count(*) from roles c where ${db.visible('c')} and c.partner_id = r.partner_id and c.parent_role_id = r.id)
      as child_role_count
  from roles r where ${db.visible('r')} and r.id = ${id}`

/** An organization that the caller sees and that is there. */
export const findOrganization = (db: Db, id: string) => db.one<{ id: string }>`
  select o.id from organizations o where ${db.visible('o')} and o.id = ${id} and o.deleted_at is null`

export interface NewRole {
  id: string
  partnerId: string
  orgId: string | null
  parentRoleId: string | null
  name: string
  description: string | null
  forceMfa: boolean
}

/** @throws PostgresError 23505 when the owner has another role of this name */
export const insertRole = (db: Db, role: NewRole) => db.run`
  insert into roles (id, partner_id, org_id, parent_role_id, scope, name, description, force_mfa)
  values (${role.id}, ${role.partnerId}, ${role.orgId}, ${role.parentRoleId}, ${role.orgId ? 'organization' : 'partner'},
    ${role.name}, ${role.description}, ${role.forceMfa})`

/** @throws PostgresError 23505 when the owner has another role of this name */
export const updateRole = (db: Db, role: NewRole, at: Date) => db.run`
  update roles r set name = ${role.name}, description = ${role.description}, parent_role_id = ${role.parentRoleId},
    force_mfa = ${role.forceMfa}, updated_at = ${at}
  where ${db.visible('r')} and r.id = ${role.id}`

/** Its own rights, `resource:action` each, in place of those it had. */
export async function replaceRights(
  db: Db,
  role: Pick<NewRole, 'id' | 'partnerId' | 'orgId'>,
  rights: readonly string[],
): Promise<void> {
  await db.run`delete from role_permissions p where ${db.visible('p')} and p.role_id = ${role.id}`
  await db.run`
    insert into role_permissions (role_id, partner_id, org_id, resource, action)
    select ${role.id}::uuid, ${role.partnerId}::uuid, ${role.orgId}::uuid, split_part(r, ':', 1), split_part(r, ':', 2)
    from unnest(${textArray(rights)}::text[]) r`
}

export const deleteRole = (db: Db, id: string) => db.run`
  delete from roles r where ${db.visible('r')} and r.id = ${id}`
