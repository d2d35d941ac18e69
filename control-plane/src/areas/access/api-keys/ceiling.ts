import { holds } from '../../../kernel/access.ts'
import { isRangeWithin, requireRange } from '../../../kernel/address-ranges.ts'
import type { Caller } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import { type Permission, permissionCatalogue } from '../../../kernel/permissions.ts'

/** Everything that a key can be given: the catalogue, and so never everything at once. */
const supportedScopes: readonly string[] = Object.entries(permissionCatalogue).flatMap(
  ([resource, actions]) => actions.map((action) => `${resource}:${action}`),
)

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
  const lacking = scopes.filter((scope) => !holds(caller, scope as Permission))
  const beyond: Record<string, unknown>[] = lacking.map((scope) => ({ field: 'scopes', scope }))
  const { key } = caller
  if (key && expiresAt && expiresAt > key.expiresAt) {
    beyond.push({ field: 'expiresAt', latest: key.expiresAt.toISOString() })
  }
  const ranges = key?.ipAllowlist
  if (ranges && ipAllowlist !== undefined) {
    const isInside = ipAllowlist?.every((range) => isRangeWithin(requireRange(range), ranges))
    if (!isInside) beyond.push({ field: 'ipAllowlist' })
  }
  if (beyond.length === 0) return
  throw new ApiError('DELEGATION_CEILING', 'an API key is not given more than its maker holds', {
    details: beyond,
  })
}
