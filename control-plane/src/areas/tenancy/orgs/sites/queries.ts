import type { Page } from '../../../../kernel/page.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import type { CreateSite, Site, SiteFilter } from './schema.ts'

const columns = ({ sql }: Db) =>
  sql`s.id, s.org_id, s.name, s.timezone, s.address, s.contact, s.created_at, s.updated_at`

/** Membership in an organization may be limited to some of its sites (interface §Memberships). */
const allowed = ({ scope, sql }: Db) =>
  scope.kind === 'tenant' && scope.siteIds ? sql`and s.id = any (${[...scope.siteIds]})` : sql``

export const listSites = (db: Db, filter: SiteFilter, page: Page) => db.rows<Site>`
  select ${columns(db)} from sites s
  where ${db.visible('s')} ${allowed(db)}
    ${filter.orgId ? db.sql`and s.org_id = ${filter.orgId}` : db.sql``}
    ${page.after('s')}
  order by s.created_at desc, s.id desc
  limit ${page.take}`

export const findSite = (db: Db, id: string) => db.one<Site>`
  select ${columns(db)} from sites s where ${db.visible('s')} ${allowed(db)} and s.id = ${id}`

/** The partner of a site that the caller sees, of this organization while it is there. */
export const findSiteOwner = (db: Db, orgId: string, siteId: string) => db.one<{ partnerId: string }>`
  select s.partner_id from sites s join organizations o on o.id = s.org_id
  where ${db.visible('s')} ${allowed(db)} and s.org_id = ${orgId} and s.id = ${siteId} and o.deleted_at is null`

/** Nothing comes back when the organization already has a site of this name. */
export const insertSite = (db: Db, site: CreateSite & { id: string; partnerId: string }) => db.one<Site>`
  insert into sites as s (id, partner_id, org_id, name, timezone, address, contact)
  values (${site.id}, ${site.partnerId}, ${site.orgId}, ${site.name}, ${site.timezone},
    ${site.address && db.sql.json(site.address)}, ${site.contact && db.sql.json(site.contact)})
  on conflict (partner_id, org_id, lower(name)) do nothing
  returning ${columns(db)}`
