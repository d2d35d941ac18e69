import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import type { Ctx } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import { partnerOfSite } from '../../tenancy/orgs/sites/service.ts'
import { settingsOf } from '../../tenancy/orgs/settings/service.ts'
import { dayMs, expiryOf, type Lives } from '../../../kernel/expiry.ts'
import { insertEnrollmentKey, lockEnrollmentKey, replaceKey, revokeEnrollmentKey } from './queries.ts'
import type { CreateEnrollmentKey, EnrollmentKey, NewEnrollmentKey, RotateEnrollmentKey } from './schema.ts'

const usualMs = 7 * dayMs
const usualDevices = 50
const minuteMs = 60_000

/** What the tenant has set for keys that are not told otherwise, and at most. */
async function defaultsOf(db: Db, orgId: string): Promise<{ lives: Lives; devices: number }> {
  const { defaults = {} } = await settingsOf(db, orgId)
  const { defaultEnrollmentTtlMinutes: ttl, maxEnrollmentLinkTtlMinutes: most } = defaults
  const lives = {
    usualMs: ttl === undefined ? usualMs : ttl * minuteMs,
    mostMs: most === undefined ? undefined : most * minuteMs,
  }
  return { lives, devices: defaults.defaultEnrollmentDeviceCount ?? usualDevices }
}

/** `svce_` and 256 random bits. Only its SHA-256 is stored. */
export const makeEnrollmentKey = (): string => `svce_${randomBytes(32).toString('base64url')}`

/**
 * A new enrollment key; the answer is the only place that ever shows it. Undefined (404) for a site that the caller does not
 * see in that organization.
 *
 * @throws ApiError 400 for an expiry that is past or more than 365 days away
 */
export async function createEnrollmentKey(
  ctx: Ctx<Record<string, never>, unknown, CreateEnrollmentKey>,
): Promise<NewEnrollmentKey | undefined> {
  const { db, body, actor, ports } = ctx
  const partnerId = await partnerOfSite(db, body)
  if (!partnerId) return undefined
  const { lives, devices } = await defaultsOf(db, body.orgId)
  const expiresAt = expiryOf(body.expiresAt, ports.clock.now(), lives)
  const key = makeEnrollmentKey()
  const { orgId, siteId, name, maxUsage = devices } = body
  const row = await insertEnrollmentKey(db, {
    id: uuid(),
    partnerId,
    orgId,
    siteId,
    name,
    maxUsage,
    keyHash: tokenHash(key),
    expiresAt,
    createdBy: actor.type === 'user' ? actor.id : null,
  })
  if (!row) throw new Error('an insert without a conflict clause returned no row')
  ctx.audited({
    type: 'enrollment_key',
    id: row.id,
    name,
    partnerId,
    orgId,
    details: { siteId, maxUsage, expiresAt },
  })
  return { ...row, key }
}

/** @throws ApiError 400 KEY_NOT_ACTIVE */
function requireUnrevoked({ state }: EnrollmentKey, what: string): void {
  if (state !== 'revoked') return
  throw new ApiError('KEY_NOT_ACTIVE', `the key is revoked: it cannot be ${what}`, { details: [{ state }] })
}

/** Nobody enrolls with it any more; devices that did stay. @throws ApiError 400 KEY_NOT_ACTIVE when it is revoked already */
export async function endEnrollmentKey(ctx: Ctx<{ id: string }>): Promise<{ success: true } | undefined> {
  const { db, params } = ctx
  const key = await lockEnrollmentKey(db, params.id)
  if (!key) return undefined
  requireUnrevoked(key, 'revoked again')
  await revokeEnrollmentKey(db, key.id)
  const { id, name, partnerId, orgId, usageCount } = key
  ctx.audited({ type: 'enrollment_key', id, name, partnerId, orgId, details: { usageCount } })
  return { success: true }
}

/**
 * A new secret and a new count for a key that is not revoked, be it used up or expired; the secret before is dead at once. What the
 * body leaves out stays; instead of an end that is past there is a usual life from now.
 *
 * @throws ApiError 400 KEY_NOT_ACTIVE
 */
export async function rotateEnrollmentKey(
  ctx: Ctx<{ id: string }, unknown, RotateEnrollmentKey>,
): Promise<NewEnrollmentKey | undefined> {
  const { db, params, body = {}, ports } = ctx
  const before = await lockEnrollmentKey(db, params.id)
  if (!before) return undefined
  requireUnrevoked(before, 'rotated')
  const now = ports.clock.now()
  const { lives } = await defaultsOf(db, before.orgId)
  const keepsEnd = body.expiresAt === undefined && before.expiresAt > now
  const expiresAt = keepsEnd ? before.expiresAt : expiryOf(body.expiresAt, now, lives)
  const maxUsage = body.maxUsage === undefined ? before.maxUsage : body.maxUsage
  const key = makeEnrollmentKey()
  const row = await replaceKey(db, before.id, { keyHash: tokenHash(key), maxUsage, expiresAt })
  if (!row) throw new Error(`enrollment key ${before.id} vanished while its row was locked`)
  const { id, name, partnerId, orgId, usageCount: usedBefore } = before
  ctx.audited({
    type: 'enrollment_key',
    id,
    name,
    partnerId,
    orgId,
    details: { usedBefore, maxUsage, expiresAt },
  })
  return { ...row, key }
}
