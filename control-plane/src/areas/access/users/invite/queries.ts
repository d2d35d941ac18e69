import type { Db } from '../../../../kernel/tenancy.ts'
import type { UserRow } from '../queries.ts'
import type { InviteUser } from '../schema.ts'

/** The account of an e-mail address, made if there is none. `fresh`: this call made it. */
export const inviteAccount = (db: Db, id: string, email: string, name: string, at: Date) =>
  db.one<
    Pick<UserRow, 'id' | 'name' | 'status'> & { fresh: boolean }
  >`select * from invite_account(${id}, ${email}, ${name}, ${at})`

/** None: the user is one already. */
export const insertPartnerMember = (
  db: Db,
  member: { userId: string; partnerId: string; roleId: string },
  { orgAccess, orgIds }: Pick<InviteUser, 'orgAccess' | 'orgIds'>,
) => db.run`
  insert into partner_memberships (partner_id, user_id, role_id, org_access, org_ids)
  values (${member.partnerId}, ${member.userId}, ${member.roleId}, ${orgAccess ?? 'none'}, ${orgIds ?? []}::uuid[])
  on conflict do nothing`

/** None: the user is one already. */
export const insertOrganizationMember = (
  db: Db,
  member: { userId: string; partnerId: string; orgId: string; roleId: string },
  { siteIds, deviceGroupIds }: Pick<InviteUser, 'siteIds' | 'deviceGroupIds'>,
) => db.run`
  insert into organization_memberships (partner_id, org_id, user_id, role_id, site_ids, device_group_ids)
  values (${member.partnerId}, ${member.orgId}, ${member.userId}, ${member.roleId}, ${siteIds ?? null}::uuid[],
    ${deviceGroupIds ?? null}::uuid[])
  on conflict do nothing`

/** Those of the ids that name living organizations which the caller sees. */
export const knownOrganizations = (db: Db, ids: readonly string[]) => db.rows<{ id: string }>`
  select o.id from organizations o where ${db.visible('o')} and o.id = any (${[...ids]}::uuid[]) and o.deleted_at is null`

export const knownSites = (db: Db, orgId: string, ids: readonly string[]) => db.rows<{ id: string }>`
  select s.id from sites s where ${db.visible('s')} and s.org_id = ${orgId} and s.id = any (${[...ids]}::uuid[])`

export const knownGroups = (db: Db, orgId: string, ids: readonly string[]) => db.rows<{ id: string }>`
  select g.id from device_groups g where ${db.visible('g')} and g.org_id = ${orgId} and g.id = any (${[...ids]}::uuid[])`

/** What an invitation is to: the organization, or else the partner. */
export const tenantName = (db: Db, { partnerId, orgId }: { partnerId: string; orgId: string | null }) =>
  orgId === null
    ? db.one<{ name: string }>`select p.name from partners p where ${db.visible('p')} and p.id = ${partnerId}`
    : db.one<{ name: string }>`
        select o.name from organizations o where ${db.visible('o')} and o.id = ${orgId} and o.deleted_at is null`
