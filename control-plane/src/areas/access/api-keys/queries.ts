import { plainArray } from '../../../db/array-literal.ts'
import type { Page } from '../../../kernel/page.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import type { ApiKey, ApiKeyFilter } from './schema.ts'

const status = ({ sql }: Db) => sql`case
  when k.revoked_at is not null then 'revoked'
  when k.expires_at <= now() then 'expired'
  else 'active' end`

const columns = (
  db: Db,
) => db.sql`k.id, k.org_id, k.name, k.prefix, k.scopes, ${status(db)} as status, k.rate_limit,
  k.ip_allowlist, k.expires_at, k.revoked_at, k.usage_count, k.last_used_at, k.created_by, k.created_at, k.updated_at`

export const listApiKeys = (db: Db, filter: ApiKeyFilter, page: Page) => db.rows<ApiKey>`
  select ${columns(db)} from api_keys k
  where ${db.visible('k')}
    ${filter.orgId ? db.sql`and k.org_id = ${filter.orgId}` : db.sql``}
    ${filter.status ? db.sql`and ${status(db)} = ${filter.status}` : db.sql``}
    ${page.after('k')}
  order by k.created_at desc, k.id desc
  limit ${page.take}`

export const findApiKey = (db: Db, id: string) => db.one<ApiKey>`
  select ${columns(db)} from api_keys k where ${db.visible('k')} and k.id = ${id}`

/** Whose it is, for the audit log; its row is held until the transaction ends. */
export const lockApiKey = (db: Db, id: string) => db.one<ApiKey & { partnerId: string }>`
  select ${columns(db)}, k.partner_id from api_keys k where ${db.visible('k')} and k.id = ${id} for no key update of k`

/** Who makes a secret, in what membership, and what is kept of it. */
export interface NewSecret {
  prefix: string
  keyHash: Buffer
  createdBy: string
  memberOrg: string | null
}

export interface NewKey extends NewSecret {
  id: string
  partnerId: string
  orgId: string | null
  name: string
  scopes: string[]
  rateLimit: number
  ipAllowlist: string[] | null
  expiresAt: Date
}

export const insertApiKey = (db: Db, key: NewKey) => db.one<ApiKey>`
  insert into api_keys as k (id, partner_id, org_id, member_org, name, prefix, key_hash, scopes, rate_limit, ip_allowlist,
    expires_at, created_by)
  values (${key.id}, ${key.partnerId}, ${key.orgId}, ${key.memberOrg}, ${key.name}, ${key.prefix}, ${key.keyHash},
    ${key.scopes}, ${key.rateLimit}, ${key.ipAllowlist}, ${key.expiresAt}, ${key.createdBy})
  returning ${columns(db)}`

export type KeyChanges = Pick<NewKey, 'name' | 'scopes' | 'rateLimit' | 'ipAllowlist' | 'expiresAt'>

export const updateApiKey = (db: Db, id: string, key: KeyChanges) => db.one<ApiKey>`
  update api_keys k set name = ${key.name}, scopes = ${key.scopes}, rate_limit = ${key.rateLimit},
    ip_allowlist = ${key.ipAllowlist}, expires_at = ${key.expiresAt}, updated_at = now()
  where ${db.visible('k')} and k.id = ${id}
  returning ${columns(db)}`

export const revokeApiKey = (db: Db, id: string) => db.run`
  update api_keys k set revoked_at = now(), updated_at = now() where ${db.visible('k')} and k.id = ${id}`

/** What was counted of the secret before is not of this one. */
export const replaceSecret = (db: Db, id: string, secret: NewSecret) => db.one<ApiKey>`
  update api_keys k set prefix = ${secret.prefix}, key_hash = ${secret.keyHash}, created_by = ${secret.createdBy},
    member_org = ${secret.memberOrg}, generation = k.generation + 1, usage_count = 0, last_used_at = null, updated_at = now()
  where ${db.visible('k')} and k.id = ${id}
  returning ${columns(db)}`

/** A membership of a user: `orgId` null is that of the partner. */
export interface OwnersPlace {
  userId: string
  partnerId: string
  orgId: string | null
}

/** Keys that these users own under these memberships. */
export const revokeOfOwners = (db: Db, places: readonly OwnersPlace[]) => db.run`
  update api_keys k set revoked_at = now(), updated_at = now()
  from unnest(${plainArray(places.map(({ userId }) => userId))}::uuid[], ${plainArray(places.map(({ partnerId }) => partnerId))}::uuid[],
    ${plainArray(places.map(({ orgId }) => orgId))}::uuid[]) as e (user_id, partner_id, org_id)
  where ${db.visible('k')} and k.revoked_at is null and k.created_by = e.user_id and k.partner_id = e.partner_id
    and k.member_org is not distinct from e.org_id`

export const revokeIn = (db: Db, whose: { partnerId: string; orgId?: string | undefined }) => db.run`
  update api_keys k set revoked_at = now(), updated_at = now()
  where ${db.visible('k')} and k.partner_id = ${whose.partnerId} and k.revoked_at is null
    ${whose.orgId ? db.sql`and k.org_id = ${whose.orgId}` : db.sql``}`
