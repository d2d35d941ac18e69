import { bytesArray, plainArray } from '../../db/array-literal.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { DeadCredential } from '../status/credentials.ts'

/** A token as it is known. */
export interface Token {
  deviceId: string
  tokenSha256: Uint8Array
}

/** A token that is not the present one of its device, and what it is. */
export interface ShownRow {
  deviceId: string
  tokenSha256: Buffer
  means: 'next' | 'replaced' | 'past'
  /** of which it was; of the next one: of the one before */
  generation: number
  /** that the device enrolled with */
  publicKey: Buffer | null
}

/** Of these tokens those that something follows from. Of devices that are cut off nothing does. */
export const findShown = (db: Db, shown: readonly Token[], replacedMs: number) => db.rows<ShownRow>`
  select d.id as device_id, s.token as token_sha256, coalesce(t.generation, d.token_generation) as generation, d.public_key,
    case when d.next_token_sha256 = s.token then 'next'
      when t.retired_at > now() - make_interval(secs => ${replacedMs / 1000}::float8) then 'replaced' else 'past' end as means
  from unnest(${plainArray(shown.map((one) => one.deviceId))}::uuid[],
    ${bytesArray(shown.map((one) => one.tokenSha256))}::bytea[]) as s (id, token)
  join devices d on d.id = s.id and d.lifecycle in ('pending', 'active') and ${db.visibleDevice('d')}
  left join device_past_tokens t on t.device_id = d.id and t.token_sha256 = s.token and ${db.visibleDevice('t', 'device_id')}
  where d.token_sha256 is distinct from s.token and (d.next_token_sha256 = s.token or t.device_id is not null)`

/**
 * The next token of a device becomes its present one, unless it has already; the one before is kept, to know it again. Gateways forget
 * that one as they do a credential that was revoked, and cut who is connected by it.
 */
export const takeIntoUse = (db: Db, { deviceId, tokenSha256 }: Token) => db.rows<DeadCredential>`
  with before as (
    select d.id, d.token_sha256, d.token_generation from devices d
    where d.id = ${deviceId}::uuid and d.next_token_sha256 = ${tokenSha256} and d.lifecycle in ('pending', 'active')
      and ${db.visibleDevice('d')}
    for no key update),
  now_used as (
    update devices d set token_sha256 = d.next_token_sha256, token_issued_at = d.next_token_at,
      token_generation = d.token_generation + 1, credential_version = d.credential_version + 1,
      next_token_sha256 = null, next_token_at = null
    from before b where d.id = b.id and ${db.visibleDevice('d')}
    returning d.id, d.partner_id, d.org_id, d.credential_version - 1 as dead, b.token_sha256 as old, b.token_generation as generation),
  kept as (
    insert into device_past_tokens (device_id, token_sha256, partner_id, org_id, generation)
    select n.id, n.old, n.partner_id, n.org_id, n.generation from now_used n where n.old is not null),
  told as (
    insert into revocations (id, partner_id, org_id, device_id, credential_version, reason)
    select gen_random_uuid(), n.partner_id, n.org_id, n.id, n.dead, 'SUPERSEDED' from now_used n)
  select n.id as device_id, n.dead as credential_version from now_used n`

/** What a device says that its next token will be, on the connection of that epoch. */
export interface Proposal extends Token {
  epoch: number
}

/**
 * Notes the next tokens of devices, and returns those that are noted now: said again it changes nothing. Only on the newest connection
 * of the device, not before the present one is due, and none that the device has or had.
 */
export const stage = (db: Db, proposals: readonly Proposal[], renewAfterMs: number) => db.rows<{
  deviceId: string
  tokenSha256: Buffer
}>`
  update devices d set next_token_sha256 = b.token,
    next_token_at = case when d.next_token_sha256 = b.token then d.next_token_at else now() end
  from unnest(${plainArray(proposals.map((one) => one.deviceId))}::uuid[],
    ${bytesArray(proposals.map((one) => one.tokenSha256))}::bytea[],
    ${plainArray(proposals.map((one) => one.epoch))}::bigint[]) as b (id, token, epoch)
  join device_presence p on p.device_id = b.id and p.epoch = b.epoch and ${db.visibleDevice('p', 'device_id')}
  where d.id = b.id and d.lifecycle = 'active' and d.token_sha256 <> b.token and ${db.visibleDevice('d')}
    and (d.next_token_sha256 = b.token
      or d.token_issued_at <= now() - make_interval(secs => ${renewAfterMs / 1000}::float8))
    and not exists (select from device_past_tokens t where t.device_id = d.id and t.token_sha256 = b.token)
  returning d.id as device_id, d.next_token_sha256 as token_sha256`
