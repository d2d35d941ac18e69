import type { Page } from '../../../../kernel/page.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import type { Settings } from '../settings/schema.ts'
import type { CreateOrganization, Organization, OrganizationFilter } from './schema.ts'

/** An organization, with all that its partner has set beside its own settings. */
export type OrganizationRow = Omit<Organization, 'inheritedSettings'> & { partnerSettings: Settings }

/** The partner's own row is visible to all of its people, whatever organizations they see. */
const partnerSettings = (db: Db) => db.sql`(select p.settings from partners p
  where (${db.visible('p')} or p.id = ${db.scope.kind === 'tenant' ? db.scope.partnerId : null}::uuid) and p.id = o.partner_id)`

const columns = (db: Db) => db.sql`o.id, o.partner_id, o.name, o.slug, o.type, o.status, o.max_devices,
  o.billing_contact, o.contract_start::text, o.contract_end::text, o.settings, coalesce(${partnerSettings(db)}, '{}') as partner_settings, o.created_at, o.updated_at`

export const listOrganizations = (db: Db, filter: OrganizationFilter, page: Page) => db.rows<OrganizationRow>`
  select ${columns(db)} from organizations o
  where ${db.visible('o')} and o.deleted_at is null
    ${filter.status ? db.sql`and o.status = ${filter.status}` : db.sql``}
    ${filter.type ? db.sql`and o.type = ${filter.type}` : db.sql``}
    ${page.after('o')}
  order by o.created_at desc, o.id desc
  limit ${page.take}`

export const findOrganization = (db: Db, id: string) => db.one<OrganizationRow>`
  select ${columns(db)} from organizations o where ${db.visible('o')} and o.id = ${id} and o.deleted_at is null`

/** Nothing comes back when the partner already has an organization with this slug. */
export const insertOrganization = (
  db: Db,
  {
    id,
    partnerId,
    slug,
    ...org
  }: Omit<CreateOrganization, 'slug'> & { id: string; partnerId: string; slug: string },
) => db.one<OrganizationRow>`
  insert into organizations as o
    (id, partner_id, name, slug, type, status, max_devices, billing_contact, contract_start, contract_end)
  values (${id}, ${partnerId}, ${org.name}, ${slug}, ${org.type}, ${org.status}, ${org.maxDevices},
    ${org.billingContact && db.sql.json(org.billingContact)}, ${org.contractStart}, ${org.contractEnd})
  on conflict (partner_id, slug) where deleted_at is null do nothing
  returning ${columns(db)}`

/** The partner of an organization that the caller sees: what is written under it. It stays there until the transaction ends. */
export const findOwner = (db: Db, orgId: string) => db.one<{ partnerId: string }>`
  select o.partner_id from organizations o where ${db.visible('o')} and o.id = ${orgId} and o.deleted_at is null for share of o`

/** Its row is held until the transaction ends. */
export const lockOrganization = (db: Db, id: string) => db.one<OrganizationRow>`
  select ${columns(db)} from organizations o
  where ${db.visible('o')} and o.id = ${id} and o.deleted_at is null for no key update of o`

export const isSlugTaken = async (
  db: Db,
  { id, partnerId }: OrganizationRow,
  slug: string,
): Promise<boolean> =>
  (await db.one`
    select from organizations o
    where ${db.visible('o')} and o.partner_id = ${partnerId} and o.slug = ${slug} and o.id <> ${id} and o.deleted_at is null`) !==
  undefined

export const updateOrganization = (
  db: Db,
  o: Omit<OrganizationRow, 'partnerSettings'>,
) => db.one<OrganizationRow>`
  update organizations o set name = ${o.name}, slug = ${o.slug}, type = ${o.type}, status = ${o.status},
    max_devices = ${o.maxDevices}, billing_contact = ${o.billingContact && db.sql.json(o.billingContact)},
    contract_start = ${o.contractStart}::date, contract_end = ${o.contractEnd}::date,
    settings = ${JSON.stringify(o.settings)}::text::jsonb, updated_at = now()
  where ${db.visible('o')} and o.id = ${o.id}
  returning ${columns(db)}`

/** How many organizations the partner has and may have; its row is held, so that no two count the same free place. */
export const lockPartnerRoom = async (db: Db, partnerId: string) => {
  const partner = await db.one<{ maxOrganizations: number | null }>`
    select p.max_organizations from partners p where ${db.visible('p')} and p.id = ${partnerId} for no key update of p`
  const count = await db.one<{ organizations: number }>`
    select count(*)::int as organizations from organizations o
    where ${db.visible('o')} and o.partner_id = ${partnerId} and o.deleted_at is null`
  return { most: partner?.maxOrganizations ?? null, organizations: count?.organizations ?? 0 }
}

/** Gives up organizations of a partner, all or one: their rows stay, their slugs are free. */
export const closeOrganizations = (db: Db, partnerId: string, orgId: string | undefined) => db.run`
  update organizations o set status = 'churned', deleted_at = now(), updated_at = now()
  where ${db.visible('o')} and o.partner_id = ${partnerId} and o.deleted_at is null
    ${orgId ? db.sql`and o.id = ${orgId}` : db.sql``}`

export const closeSites = (db: Db, partnerId: string, orgId: string | undefined) => db.run`
  update sites s set deleted_at = now(), updated_at = now()
  where ${db.visible('s')} and s.partner_id = ${partnerId} and s.deleted_at is null
    ${orgId ? db.sql`and s.org_id = ${orgId}` : db.sql``}`

export const endTenantSessions = (
  db: Db,
  partnerId: string,
  orgId: string | undefined,
  reason: string,
  at: Date,
) => db.one`
  select end_tenant_sessions(${partnerId}, ${orgId ?? null}, ${reason}, ${at})`
