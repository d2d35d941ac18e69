import type { Page } from '../../../../kernel/page.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import type { Partner, PartnerFilter } from './schema.ts'

const columns = ({ sql }: Db) =>
  sql`p.id, p.name, p.slug, p.status, p.max_organizations, p.max_devices, p.settings, p.created_at, p.updated_at`

export const listPartners = (db: Db, filter: PartnerFilter, page: Page) => db.rows<Partner>`
  select ${columns(db)} from partners p
  where ${db.visible('p')} and p.deleted_at is null
    ${filter.status ? db.sql`and p.status = ${filter.status}` : db.sql``}
    ${page.after('p')}
  order by p.created_at desc, p.id desc
  limit ${page.take}`

export const findPartner = (db: Db, id: string) => db.one<Partner>`
  select ${columns(db)} from partners p where ${db.visible('p')} and p.id = ${id} and p.deleted_at is null`

/** All of a partner's people may read its row, whatever organizations they see. */
export const findOwnPartner = (db: Db, id: string) => db.one<Partner>`
  select ${columns(db)} from partners p
  where (${db.visible('p')} or p.id = ${db.scope.kind === 'tenant' ? db.scope.partnerId : null}::uuid)
    and p.id = ${id} and p.deleted_at is null`

/** Its row is held until the transaction ends. */
export const lockPartner = (db: Db, id: string) => db.one<Partner>`
  select ${columns(db)} from partners p
  where ${db.visible('p')} and p.id = ${id} and p.deleted_at is null for no key update of p`

export type NewPartner = Pick<
  Partner,
  'id' | 'name' | 'slug' | 'maxOrganizations' | 'maxDevices' | 'settings'
>

/** Nothing comes back when there is a partner with this slug. */
export const insertPartner = (db: Db, partner: NewPartner) => db.one<Partner>`
  insert into partners as p (id, name, slug, max_organizations, max_devices, settings)
  values (${partner.id}, ${partner.name}, ${partner.slug}, ${partner.maxOrganizations}, ${partner.maxDevices},
    ${JSON.stringify(partner.settings)}::text::jsonb)
  on conflict (slug) do nothing
  returning ${columns(db)}`

/** Also one of a partner that was given up: it is never used again. */
export const isSlugTaken = async (db: Db, id: string, slug: string): Promise<boolean> =>
  (await db.one`select from partners p where ${db.visible('p')} and p.slug = ${slug} and p.id <> ${id}`) !==
  undefined

export const updatePartner = (db: Db, partner: Partner) => db.one<Partner>`
  update partners p set name = ${partner.name}, slug = ${partner.slug}, status = ${partner.status},
    max_organizations = ${partner.maxOrganizations}, max_devices = ${partner.maxDevices},
    settings = ${JSON.stringify(partner.settings)}::text::jsonb, updated_at = now()
  where ${db.visible('p')} and p.id = ${partner.id}
  returning ${columns(db)}`

export const closePartner = (db: Db, id: string) => db.run`
  update partners p set status = 'churned', deleted_at = now(), updated_at = now()
  where ${db.visible('p')} and p.id = ${id} and p.deleted_at is null`
