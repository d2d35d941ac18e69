import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import type { Ctx } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import { partnerOfSite } from '../../tenancy/orgs/sites/service.ts'
import { insertEnrollmentKey } from './queries.ts'
import type { CreateEnrollmentKey, NewEnrollmentKey } from './schema.ts'

const dayMs = 86_400_000
const defaultLifeMs = 7 * dayMs
const longestLifeMs = 365 * dayMs

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
  const expiresAt = expiry(body.expiresAt, ports.clock.now())
  const partnerId = await partnerOfSite(db, body)
  if (!partnerId) return undefined
  const key = makeEnrollmentKey()
  const { orgId, siteId, name, maxUsage } = body
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

function expiry(wanted: string | undefined, now: Date): Date {
  if (wanted === undefined) return new Date(now.getTime() + defaultLifeMs)
  const at = new Date(wanted)
  if (at > now && at.getTime() - now.getTime() <= longestLifeMs) return at
  const message = 'must be in the future and at most 365 days away'
  throw new ApiError('VALIDATION_ERROR', 'the request is not valid', {
    details: [{ in: 'body', field: 'expiresAt', message }],
  })
}
