import type { Caller } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { beyond } from '../../../../kernel/rights.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { rightsOfRoles } from '../../roles/tree/service.ts'
import { mostNamed } from '../../users/service.ts'
import { findAnotherManager } from '../managers/queries.ts'
import type { ReviewRow } from '../queries.ts'
import { type Counts, findPendingOfOthers, type Revoked } from './queries.ts'

export const nameOf = ({ itemId, userId, userEmail }: Revoked) => ({ itemId, userId, userEmail })

/**
 * Somebody has decided on each item. Nobody may decide on themselves: where there is nobody else who could, that stays open and
 * keeps nobody from completing. An organization's members may ask its partner, which always has an administrator.
 *
 * @throws ApiError 400 REVIEW_ITEMS_PENDING
 */
export async function requireDecided(db: Db, review: ReviewRow, counts: Counts, by: string): Promise<void> {
  if (counts.pendingCount === 0) return
  const onlyOwn = review.orgId === null && !(await findPendingOfOthers(db, review.id, by))?.exists
  if (onlyOwn && !(await findAnotherManager(db, review, by))?.exists) return
  throw new ApiError(
    'REVIEW_ITEMS_PENDING',
    `${counts.pendingCount} of ${counts.itemCount} items are not decided on`,
    {
      details: [{ ...counts }],
    },
  )
}

/**
 * What removes a user by itself is no easier here: nobody removes themselves, nor who holds more than they do at this moment.
 *
 * @throws ApiError 403; each of `details` names an item
 */
export async function requireMayEnd(
  db: Db,
  caller: Caller,
  revoked: readonly Revoked[],
  by: string,
): Promise<void> {
  const own = revoked.filter(({ userId }) => userId === by)
  if (own.length > 0) {
    throw new ApiError(
      'FORBIDDEN',
      'nobody can remove themselves: somebody else has to complete the review',
      {
        details: own.slice(0, mostNamed).map(nameOf),
      },
    )
  }
  const rights = await rightsOfRoles(
    db,
    revoked.map(({ roleId }) => roleId),
  )
  const stronger = revoked.flatMap((item) => {
    const permissions = beyond(caller.permissions, rights.get(item.roleId) ?? [])
    return permissions.length > 0 ? [{ ...nameOf(item), permissions }] : []
  })
  if (stronger.length === 0) return
  throw new ApiError(
    'DELEGATION_CEILING',
    `${stronger.length} users to be removed hold permissions that you do not hold`,
    {
      details: stronger.slice(0, mostNamed),
    },
  )
}
