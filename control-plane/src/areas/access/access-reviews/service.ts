import { requireWithin } from '../../../kernel/ceiling.ts'
import { type Ctx, userBehind } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import { placeOf } from '../../../kernel/page.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import { rightsOfRoles } from '../roles/tree/service.ts'
import { requireAnother } from '../users/service.ts'
import { countDecisions } from './completion/queries.ts'
import {
  findItem,
  findReview,
  listItems,
  lockReview,
  type ReviewRow,
  touchReview,
  updateItem,
} from './queries.ts'
import type { AccessReviewDetail, DecideItem, ItemQuery, ReviewItem } from './schema.ts'

const order = { route: 'GET /access-reviews/:id', sort: 'position', direction: 'asc' } as const

/** A review with one page of its items, by name. Undefined (404) for one that the caller does not see. */
export async function reviewDetail(
  ctx: Ctx<{ id: string }, ItemQuery>,
): Promise<AccessReviewDetail | undefined> {
  const { db, params, query, ports } = ctx
  const { cursor, limit } = query
  const place = placeOf(ctx, order)
  const after = cursor === undefined ? 0 : Number(ports.cursors.read(cursor, place)[0])
  const [review, rows] = await Promise.all([
    findReview(db, params.id),
    listItems(db, params.id, query, after, limit + 1),
  ])
  const items = rows.slice(0, limit)
  const last = rows.length > limit ? items.at(-1) : undefined
  return (
    review && {
      ...review,
      items,
      nextCursor: last ? ports.cursors.write({ ...place, keys: [last.position] }) : null,
    }
  )
}

/** @throws ApiError 400 REVIEW_COMPLETED */
export async function requireOpen(db: Db, { id, status }: ReviewRow): Promise<void> {
  if (status !== 'completed') return
  throw new ApiError('REVIEW_COMPLETED', 'the review is completed', {
    details: [{ ...(await countDecisions(db, id)) }],
  })
}

/**
 * Decides on one membership, or takes a decision back; nothing happens to it before the review is completed. Undefined (404) for an
 * item that is not of that review, and for a review that the caller does not see.
 *
 * @throws ApiError 400 for a completed review; 403 for oneself, and for revoking the access of a user who holds more than the caller
 */
export async function decideItem(
  ctx: Ctx<{ id: string; itemId: string }, unknown, DecideItem>,
): Promise<ReviewItem | undefined> {
  const { db, body, params, caller, ports } = ctx
  const review = await lockReview(db, params.id)
  const item = review && (await findItem(db, review.id, params.itemId))
  if (!review || !item) return undefined
  await requireOpen(db, review)
  requireAnother(caller, item.userId, 'decide on their own access')
  const { presentRoleId: roleId } = item
  if (body.decision === 'revoked' && roleId !== null) {
    requireWithin(caller, (await rightsOfRoles(db, [roleId])).get(roleId) ?? [], 'the user')
  }
  const { decision, notes = item.notes } = body
  const [at, by] = [ports.clock.now(), decision === 'pending' ? null : (userBehind(caller.actor) ?? null)]
  const decided = await updateItem(db, item.id, { decision, notes }, by, at)
  await touchReview(db, review.id, review.status === 'pending' && by === null ? 'pending' : 'in_progress', at)
  const { id, name, partnerId, orgId } = review
  const details = { itemId: item.id, userId: item.userId, from: item.decision, to: decision }
  ctx.audited({ type: 'access_review', id, name, partnerId, ...(orgId && { orgId }), details })
  return decided
}
