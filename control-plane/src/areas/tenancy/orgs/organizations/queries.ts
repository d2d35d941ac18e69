import type { Page } from '../../../../kernel/page.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import type { CreateOrganization, Organization, OrganizationFilter } from './schema.ts'

const columns = ({ sql }: Db) => sql`o.id, o.partner_id, o.name, o.slug, o.type, o.status, o.max_devices,
  o.billing_contact, o.contract_start::text, o.contract_end::text, o.created_at, o.updated_at`

export const listOrganizations = (db: Db, filter: OrganizationFilter, page: Page) => db.rows<Organization>`
  select ${columns(db)} from organizations o
  where ${db.visible('o')} and o.deleted_at is null
    ${filter.status ? db.sql`and o.status = ${filter.status}` : db.sql``}
    ${filter.type ? db.sql`and o.type = ${filter.type}` : db.sql``}
    ${page.after('o')}
  order by o.created_at desc, o.id desc
  limit ${page.take}`

export const findOrganization = (db: Db, id: string) => db.one<Organization>`
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
) => db.one<Organization>`
  insert into organizations as o
    (id, partner_id, name, slug, type, status, max_devices, billing_contact, contract_start, contract_end)
  values (${id}, ${partnerId}, ${org.name}, ${slug}, ${org.type}, ${org.status}, ${org.maxDevices},
    ${org.billingContact && db.sql.json(org.billingContact)}, ${org.contractStart}, ${org.contractEnd})
  on conflict (partner_id, slug) where deleted_at is null do nothing
  returning ${columns(db)}`

/** The partner of an organization that the caller sees: what is written under it. */
export const findOwner = (db: Db, orgId: string) => db.one<{ partnerId: string }>`
  select o.partner_id from organizations o where ${db.visible('o')} and o.id = ${orgId} and o.deleted_at is null`
