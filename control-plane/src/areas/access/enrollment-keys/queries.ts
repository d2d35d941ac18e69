import type { Page } from '../../../kernel/page.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import type { EnrollmentKey, EnrollmentKeyFilter } from './schema.ts'

const state = ({ sql }: Db) => sql`case
  when k.revoked_at is not null then 'revoked'
  when k.expires_at <= now() then 'expired'
  when k.usage_count >= k.max_usage then 'exhausted'
  else 'usable' end`

const columns = (
  db: Db,
) => db.sql`k.id, k.org_id, k.site_id, k.name, k.max_usage, k.usage_count, ${state(db)} as state,
  k.expires_at, k.revoked_at, k.created_by, k.created_at`

/** Membership in an organization may be limited to some of its sites (interface §Memberships). */
const allowed = ({ scope, sql }: Db) =>
  scope.kind === 'tenant' && scope.siteIds ? sql`and k.site_id = any (${[...scope.siteIds]})` : sql``

export const listEnrollmentKeys = (db: Db, filter: EnrollmentKeyFilter, page: Page) => db.rows<EnrollmentKey>`
  select ${columns(db)} from enrollment_keys k
  where ${db.visible('k')} ${allowed(db)}
    ${filter.orgId ? db.sql`and k.org_id = ${filter.orgId}` : db.sql``}
    ${filter.siteId ? db.sql`and k.site_id = ${filter.siteId}` : db.sql``}
    ${filter.state ? db.sql`and ${state(db)} = ${filter.state}` : db.sql``}
    ${page.after('k')}
  order by k.created_at desc, k.id desc
  limit ${page.take}`

export interface NewKey {
  id: string
  partnerId: string
  orgId: string
  siteId: string
  name: string
  keyHash: Buffer
  maxUsage: number | null
  expiresAt: Date
  createdBy: string | null
}

export const insertEnrollmentKey = (db: Db, key: NewKey) => db.one<EnrollmentKey>`
  insert into enrollment_keys as k
    (id, partner_id, org_id, site_id, name, key_hash, max_usage, expires_at, created_by)
  values (${key.id}, ${key.partnerId}, ${key.orgId}, ${key.siteId}, ${key.name}, ${key.keyHash}, ${key.maxUsage},
    ${key.expiresAt}, ${key.createdBy})
  returning ${columns(db)}`

export const findEnrollmentKey = (db: Db, id: string) => db.one<EnrollmentKey>`
  select ${columns(db)} from enrollment_keys k where ${db.visible('k')} ${allowed(db)} and k.id = ${id}`

/** Its row is held until the transaction ends: enrollments wait. */
export const lockEnrollmentKey = (db: Db, id: string) => db.one<EnrollmentKey & { partnerId: string }>`
  select ${columns(db)}, k.partner_id from enrollment_keys k
  where ${db.visible('k')} ${allowed(db)} and k.id = ${id} for no key update of k`

export const revokeEnrollmentKey = (db: Db, id: string) => db.run`
  update enrollment_keys k set revoked_at = now() where ${db.visible('k')} and k.id = ${id}`

export const replaceKey = (
  db: Db,
  id: string,
  { keyHash, maxUsage, expiresAt }: Pick<NewKey, 'keyHash' | 'maxUsage' | 'expiresAt'>,
) => db.one<EnrollmentKey>`
  update enrollment_keys k set key_hash = ${keyHash}, usage_count = 0, max_usage = ${maxUsage}, expires_at = ${expiresAt}
  where ${db.visible('k')} and k.id = ${id}
  returning ${columns(db)}`

export const revokeIn = (
  db: Db,
  whose: { partnerId: string; orgId?: string | undefined; siteId?: string | undefined },
) => db.run`
  update enrollment_keys k set revoked_at = now()
  where ${db.visible('k')} and k.partner_id = ${whose.partnerId} and k.revoked_at is null
    ${whose.orgId ? db.sql`and k.org_id = ${whose.orgId}` : db.sql``}
    ${whose.siteId ? db.sql`and k.site_id = ${whose.siteId}` : db.sql``}`

/** Keys of one partner, or of one organization, that may be in use: they are held until the transaction ends. */
export const holdIn = (db: Db, { partnerId, orgId }: { partnerId?: string; orgId?: string }) => db.rows`
  select k.id from enrollment_keys k
  where ${db.visible('k')} and k.revoked_at is null
    and (k.partner_id = ${partnerId ?? null}::uuid or k.org_id = ${orgId ?? null}::uuid)
  order by k.id for no key update of k`
