import { isRangeWithin, requireRange } from '../../../kernel/address-ranges.ts'
import { requireWithin } from '../../../kernel/ceiling.ts'
import type { Caller } from '../../../kernel/context.ts'
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
}

/**
 * Nobody gives a key more than they hold. What an API key makes or changes also lives no longer than itself and is used from
 * nowhere else: else whoever got hold of it could make its limits go away.
 *
 * @throws ApiError DELEGATION_CEILING
 */
export function requireCeiling(caller: Caller, { scopes = [], expiresAt, ipAllowlist }: Grant): void {
  requireWithin(caller, scopes as readonly Right[], 'the API key')
  const { key } = caller
  if (!key) return
  if (expiresAt && expiresAt > key.expiresAt) {
    throw wider({ field: 'expiresAt', latest: key.expiresAt.toISOString() })
  }
  const ranges = key.ipAllowlist
  if (!ranges || ipAllowlist === undefined) return
  const isInside = ipAllowlist?.every((range) => isRangeWithin(requireRange(range), ranges))
  if (!isInside) throw wider({ field: 'ipAllowlist' })
}

const wider = (detail: Record<string, unknown>) =>
  new ApiError('DELEGATION_CEILING', 'what an API key makes or changes is held to its own limits', {
    details: [detail],
  })
