import type { Caller } from './context.ts'
import { ApiError } from './errors.ts'
import { beyond, type Right } from './rights.ts'

/**
 * Nobody hands on, or takes away, more than they hold themselves.
 *
 * @param doing what the rights are of, for the message: `the role`
 * @throws ApiError 403 DELEGATION_CEILING; each of `details` names a permission that the caller lacks
 */
export function requireWithin(caller: Caller, rights: Iterable<Right>, doing: string): void {
  const lacking = beyond(caller.permissions, rights)
  if (lacking.length === 0) return
  throw new ApiError('DELEGATION_CEILING', `${doing} holds permissions that you do not hold`, {
    details: lacking.map((permission) => ({ permission })),
  })
}
