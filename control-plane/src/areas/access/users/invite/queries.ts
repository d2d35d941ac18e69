import type { Db } from '../../../../kernel/tenancy.ts'

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
