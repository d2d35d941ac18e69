import { tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import { makeApiKey, prefixOf } from '../../../kernel/api-key-text.ts'
import { changed } from '../../../kernel/changed.ts'
import { type AuditSubject, type Ctx, userBehind } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import { isLooser, requireCeiling, requireKnown, requireReach } from './ceiling.ts'
import { dayMs, expiryOf } from '../../../kernel/expiry.ts'
import { placeOf } from './place.ts'
import {
  insertApiKey,
  type KeyChanges,
  lockApiKey,
  type NewSecret,
  replaceSecret,
  revokeApiKey,
  updateApiKey,
} from './queries.ts'
import type { ApiKey, CreateApiKey, NewApiKey, UpdateApiKey } from './schema.ts'

const lives = { usualMs: 90 * dayMs }

type LockedKey = ApiKey & { partnerId: string }
type Anybody = Pick<Ctx, 'actor' | 'caller'>

/** A new secret, and what is kept of it; it acts with the rights of whoever makes it. */
function newSecret({ actor, caller }: Anybody): { key: string; secret: NewSecret } {
  const createdBy = userBehind(actor)
  if (createdBy === undefined) throw new Error('nobody makes an API key')
  const memberOrg = caller.membership?.kind === 'organization' ? caller.membership.id : null
  const key = makeApiKey()
  return { key, secret: { prefix: prefixOf(key), keyHash: tokenHash(key), createdBy, memberOrg } }
}

const subjectOf = (
  { id, name, orgId }: ApiKey,
  partnerId: string,
  details: Record<string, unknown>,
): AuditSubject => ({ type: 'api_key', id, name, partnerId, ...(orgId && { orgId }), details })

/**
 * A new key; the answer is the only place that ever shows it. Undefined (404) for an organization that the caller does not see.
 *
 * @throws ApiError 400 for an unknown scope or a wrong expiry; 403 DELEGATION_CEILING for more than the caller holds
 */
export async function createApiKey(
  ctx: Ctx<Record<string, never>, unknown, CreateApiKey>,
): Promise<NewApiKey | undefined> {
  const { db, body, ports } = ctx
  const { name, scopes, rateLimit, ipAllowlist } = body
  requireKnown(scopes)
  const expiresAt = expiryOf(body.expiresAt, ports.clock.now(), lives)
  const place = await placeOf(ctx, body.orgId)
  if (!place) return undefined
  requireCeiling(ctx.caller, { scopes, expiresAt, ipAllowlist, rateLimit })
  const { key, secret } = newSecret(ctx)
  const given = { name, scopes, rateLimit, ipAllowlist, expiresAt }
  const row = await insertApiKey(db, { id: uuid(), ...place, ...secret, ...given })
  if (!row) throw new Error('an insert without a conflict clause returned no row')
  const { name: _, ...details } = given
  ctx.audited(subjectOf(row, place.partnerId, { prefix: row.prefix, ...details }))
  return { ...row, key }
}

/** @throws ApiError 400 KEY_NOT_ACTIVE */
function requireActive({ status }: ApiKey, what: string): void {
  if (status === 'active') return
  throw new ApiError('KEY_NOT_ACTIVE', `the key is ${status}: it cannot be ${what}`, {
    details: [{ status }],
  })
}

/**
 * Changes what a key may do. Undefined (404) when the caller may not see it.
 *
 * @throws ApiError as {@link createApiKey}, for what is added, or for all of it where its limits get looser; 400 KEY_NOT_ACTIVE; 403 FULL_ACCESS_REQUIRED for another's key that
 *   may reach further than the caller
 */
export async function changeApiKey(
  ctx: Ctx<{ id: string }, unknown, UpdateApiKey>,
): Promise<ApiKey | undefined> {
  const { db, body, params, ports } = ctx
  const key = await lockApiKey(db, params.id)
  if (!key) return undefined
  requireReach(ctx.caller, key)
  requireActive(key, 'changed')
  const { expiresAt: wanted, ...rest } = body
  const expiresAt = wanted === undefined ? undefined : expiryOf(wanted, ports.clock.now(), lives)
  requireKnown(body.scopes ?? [])
  const changes = { ...rest, expiresAt }
  const after = changed<KeyChanges>(key, changes)
  const added = after.scopes.filter((scope) => !key.scopes.includes(scope))
  const { ipAllowlist, rateLimit } = body
  const scopes = isLooser(after, key) ? after.scopes : added
  requireCeiling(ctx.caller, { scopes, expiresAt, ipAllowlist, rateLimit })
  const row = await updateApiKey(db, key.id, after)
  ctx.audited(subjectOf(key, key.partnerId, changes))
  ctx.after(() => ports.apiKeys.changed())
  return row
}

/** The key is dead within five seconds everywhere, its row stays. @throws ApiError 400 KEY_NOT_ACTIVE when it is revoked already */
export async function endApiKey(ctx: Ctx<{ id: string }>): Promise<{ success: true } | undefined> {
  const { db, params, ports } = ctx
  const key = await lockApiKey(db, params.id)
  if (!key) return undefined
  if (key.status === 'revoked') requireActive(key, 'revoked again')
  await revokeApiKey(db, key.id)
  ctx.audited(subjectOf(key, key.partnerId, { prefix: key.prefix }))
  ctx.after(() => ports.apiKeys.changed())
  return { success: true }
}

/**
 * A new secret for an active key; the one before is dead. Whoever rotates a key owns it from then on: it acts with their rights, so
 * that nobody gets hold of a secret that can do more than they. They must be able to make such a key.
 *
 * @throws ApiError 400 KEY_NOT_ACTIVE; 403 DELEGATION_CEILING
 */
export async function rotateApiKey(ctx: Ctx<{ id: string }>): Promise<NewApiKey | undefined> {
  const { db, params, ports } = ctx
  const before: LockedKey | undefined = await lockApiKey(db, params.id)
  if (!before) return undefined
  requireActive(before, 'rotated')
  requireCeiling(ctx.caller, before)
  const { key, secret } = newSecret(ctx)
  const row = await replaceSecret(db, before.id, secret)
  if (!row) throw new Error(`API key ${before.id} vanished while its row was locked`)
  const details = { from: before.prefix, to: row.prefix, ownerBefore: before.createdBy }
  ctx.audited(subjectOf(row, before.partnerId, details))
  ctx.after(() => ports.apiKeys.changed())
  return { ...row, key }
}
