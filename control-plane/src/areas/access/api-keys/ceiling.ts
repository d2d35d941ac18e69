import { isRangeWithin, requireRange } from '../../../kernel/address-ranges.ts'
import { requireWithin } from '../../../kernel/ceiling.ts'
import { type Caller, userBehind } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import { allPermissions, type Right } from '../../../kernel/rights.ts'

/** Everything that a key can be given: the catalogue, and so never everything at once. */
const supportedScopes: readonly string[] = allPermissions

/** @throws ApiError VALIDATION_ERROR that names those which there are not, and lists those which there are */
export function requireKnown(scopes: readonly string[]): void {
  const unknown = scopes.filter((scope) => !supportedScopes.includes(scope))
  if (unknown.length === 0) return
  throw new ApiError('VALIDATION_ERROR', `there is no such scope: ${unknown.join(', ')}`, {
    details: [
      {
        in: 'body',
        field: 'scopes',
        message: 'must be permissions of the catalogue',
        unknown,
        supportedScopes,
      },
    ],
  })
}

/** What a key is to be given; absent: it stays as it is. */
export interface Grant {
  scopes?: readonly string[] | undefined
  expiresAt?: Date | undefined
  ipAllowlist?: readonly string[] | null | undefined
  /** requests per minute */
  rateLimit?: number | undefined
}

/**
 * Nobody gives a key more than they hold. What an API key makes or changes also lives no longer than itself, is used from
 * nowhere else and not more often: else whoever got hold of it could make its limits go away.
 *
 * @throws ApiError DELEGATION_CEILING
 */
export function requireCeiling(
  caller: Caller,
  { scopes = [], expiresAt, ipAllowlist, rateLimit }: Grant,
): void {
  requireWithin(caller, scopes as readonly Right[], 'the API key')
  const { key } = caller
  if (!key) return
  if (expiresAt && expiresAt > key.expiresAt) {
    throw wider({ field: 'expiresAt', latest: key.expiresAt.toISOString() })
  }
  if (rateLimit !== undefined && rateLimit > key.rateLimit) {
    throw wider({ field: 'rateLimit', most: key.rateLimit })
  }
  const ranges = key.ipAllowlist
  if (!ranges || ipAllowlist === undefined) return
  if (!isInside(ipAllowlist, ranges)) throw wider({ field: 'ipAllowlist' })
}

/** No list is everywhere. */
const isInside = (list: readonly string[] | null, ranges: Parameters<typeof isRangeWithin>[1]): boolean =>
  list !== null && list.every((range) => isRangeWithin(requireRange(range), ranges))

type Limits = Required<{ [K in 'expiresAt' | 'ipAllowlist' | 'rateLimit']: NonNullable<Grant[K]> | null }>

/**
 * Is a key good for longer, more often, or from elsewhere than before? Whoever lacks what it gives must not make it so: they may have
 * its secret, and its limits are all that keeps them from using it.
 */
export function isLooser(after: Limits, before: Limits): boolean {
  if (
    Number(after.expiresAt) > Number(before.expiresAt) ||
    Number(after.rateLimit) > Number(before.rateLimit)
  )
    return true
  const ranges = before.ipAllowlist?.map(requireRange)
  return ranges !== undefined && !isInside(after.ipAllowlist, ranges)
}

/**
 * Another's key reaches as far as its owner does. Who is held to some sites, groups or organizations must not make more of one that is
 * not: they may have its secret, and would reach with it beyond what is theirs.
 *
 * @throws ApiError 403 FULL_ACCESS_REQUIRED
 */
export function requireReach(
  { actor, scope }: Caller,
  key: { orgId: string | null; createdBy: string | null },
) {
  if (scope.kind !== 'tenant' || userBehind(actor) === key.createdBy) return
  const isLimited = scope.siteIds !== undefined || scope.deviceGroupIds !== undefined
  if (!isLimited && (key.orgId !== null || scope.orgs === 'all')) return
  throw new ApiError(
    'FULL_ACCESS_REQUIRED',
    'another user’s key may reach further than you: revoke or rotate it',
  )
}

const wider = (detail: Record<string, unknown>) =>
  new ApiError('DELEGATION_CEILING', 'what an API key makes or changes is held to its own limits', {
    details: [detail],
  })
