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
  where ${db.visible('s')} ${allowed(db)} and s.deleted_at is null
    ${filter.orgId ? db.sql`and s.org_id = ${filter.orgId}` : db.sql``}
    ${page.after('s')}
  order by s.created_at desc, s.id desc
  limit ${page.take}`

export const findSite = (db: Db, id: string) => db.one<Site>`
  select ${columns(db)} from sites s where ${db.visible('s')} ${allowed(db)} and s.id = ${id} and s.deleted_at is null`

/** The partner of a site that the caller sees, of this organization. The site stays there until the transaction ends. */
export const findSiteOwner = (db: Db, orgId: string, siteId: string) => db.one<{ partnerId: string }>`
  select s.partner_id from sites s join organizations o on o.id = s.org_id
  where ${db.visible('s')} ${allowed(db)} and s.org_id = ${orgId} and s.id = ${siteId}
    and s.deleted_at is null and o.deleted_at is null for key share of s`

/** Nothing comes back when the organization already has a site of this name. */
export const insertSite = (db: Db, site: CreateSite & { id: string; partnerId: string }) => db.one<Site>`
  insert into sites as s (id, partner_id, org_id, name, timezone, address, contact)
  values (${site.id}, ${site.partnerId}, ${site.orgId}, ${site.name}, ${site.timezone},
    ${site.address && db.sql.json(site.address)}, ${site.contact && db.sql.json(site.contact)})
  on conflict (partner_id, org_id, lower(name)) do nothing
  returning ${columns(db)}`

/** Its row is held until the transaction ends: whatever would join the site waits. */
export const lockSite = (db: Db, id: string) => db.one<Site & { partnerId: string }>`
  select ${columns(db)}, s.partner_id from sites s
  where ${db.visible('s')} ${allowed(db)} and s.id = ${id} and s.deleted_at is null for update of s`

export const isNameTaken = async (db: Db, { id, orgId }: Site, name: string): Promise<boolean> =>
  (await db.one`
    select from sites s where ${db.visible('s')} and s.org_id = ${orgId} and lower(s.name) = lower(${name}) and s.id <> ${id}`) !==
  undefined

export const updateSite = (db: Db, site: Site) => db.one<Site>`
  update sites s set name = ${site.name}, timezone = ${site.timezone}, address = ${site.address && db.sql.json(site.address)},
    contact = ${site.contact && db.sql.json(site.contact)}, updated_at = now()
  where ${db.visible('s')} and s.id = ${site.id}
  returning ${columns(db)}`

/** What keeps a site from being given up. */
export interface SiteContents {
  devices: number
  enrollmentKeys: number
}

export const countContents = (db: Db, id: string) => db.one<SiteContents>`
  select
    (select count(*)::int from devices d where ${db.visible('d')} and d.site_id = ${id} and d.lifecycle <> 'decommissioned')
      as devices,
    (select count(*)::int from enrollment_keys k where ${db.visible('k')} and k.site_id = ${id} and k.revoked_at is null
      and k.expires_at > now() and (k.max_usage is null or k.usage_count < k.max_usage)) as enrollment_keys`

/** Gives up the site and its name. The row stays for the devices that were there. */
export const closeSite = (db: Db, id: string) => db.run`
  update sites s set deleted_at = now(), updated_at = now(), name = left(s.name, 200) || ' (deleted ' || s.id || ')'
  where ${db.visible('s')} and s.id = ${id}`
