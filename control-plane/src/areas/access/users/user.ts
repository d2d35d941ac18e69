import { requireWithin } from '../../../kernel/ceiling.ts'
import { type Caller, userBehind } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import type { Right } from '../../../kernel/rights.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import { rightsOfRole } from '../roles/tree/service.ts'
import type { UserRow } from './queries.ts'
import type { Membership, User } from './schema.ts'

type Place = Pick<Membership, 'partnerId' | 'orgId'>

const isIn =
  (place: Place) =>
  ({ partnerId, orgId }: Place): boolean =>
    partnerId === place.partnerId && orgId === place.orgId

/** The membership in a place, if the caller sees one there. */
export const membershipIn = (user: UserRow, place: Place): Membership | undefined =>
  user.memberships.find(isIn(place))

/** A user as answers show them: what they are in `place`, or else in the first that the caller sees, stands at the top. */
export function userOf(row: UserRow, place?: Place): User {
  const first = (place && membershipIn(row, place)) ?? row.memberships[0]
  if (!first) throw new Error('a user was found by memberships that are not there')
  return { ...row, ...first }
}

/**
 * The membership that a change is about. Undefined (404): none in that organization.
 *
 * @param orgId as the request names it
 * @throws ApiError 400 where it could be one of several
 */
export function chosenMembership(user: UserRow, orgId: string | undefined): Membership | undefined {
  const { memberships } = user
  if (orgId !== undefined) return memberships.find((membership) => membership.orgId === orgId)
  const [first] = memberships
  if (!first || first.orgId === null || memberships.length === 1) return first
  throw new ApiError('VALIDATION_ERROR', 'the user belongs to several organizations: say which', {
    details: [
      {
        in: 'query',
        field: 'orgId',
        message: 'is missing',
        organizations: memberships.map((it) => it.orgId),
      },
    ],
  })
}

/**
 * Nobody changes a user who holds more than they do.
 *
 * @throws ApiError 403 DELEGATION_CEILING
 */
export async function requireOver(db: Db, caller: Caller, memberships: readonly Membership[]): Promise<void> {
  const held = new Set<Right>()
  for (const { roleId } of memberships) for (const right of await rightsOfRole(db, roleId)) held.add(right)
  requireWithin(caller, held, 'the user')
}

/** What an audit row is about. */
export const aboutUser = ({ id, email }: { id: string; email: string }, { partnerId, orgId }: Place) => ({
  type: 'user',
  id,
  name: email,
  partnerId,
  ...(orgId !== null && { orgId }),
})

/** What a change was, as its audit row tells. */
export const changesOf = (
  user: { name: string; status: string },
  { name, status }: { name?: string | undefined; status?: string | undefined },
) => ({
  ...(name !== undefined && { name: { from: user.name, to: name } }),
  ...(status !== undefined && { status: { from: user.status, to: status } }),
})

/** @throws ApiError 403 when a user asks for it about themselves, be it by an API key of theirs */
export function requireAnother({ actor }: Pick<Caller, 'actor'>, userId: string, what: string): void {
  if (userBehind(actor) === userId) throw new ApiError('FORBIDDEN', `nobody can ${what}`)
}
