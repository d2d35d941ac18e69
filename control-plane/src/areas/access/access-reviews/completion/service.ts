import { writeAudits } from '../../../../kernel/audit.ts'
import { type Ctx, userBehind } from '../../../../kernel/context.ts'
import { beginChange } from '../../roles/tree/service.ts'
import { endMemberships } from '../../users/service.ts'
import { lockReview } from '../queries.ts'
import type { CompletedReview } from '../schema.ts'
import { requireOpen } from '../service.ts'
import { countDecisions, listRevoked, markCompleted, type Revoked } from './queries.ts'
import { nameOf, requireDecided, requireMayEnd } from './rules.ts'

/**
 * Ends the memberships that are marked so, with the logins that were for them, all or none. Undefined (404) for a review that the
 * caller does not see.
 *
 * @throws ApiError 400 when it is completed already, or somebody has to decide on an item; 403 for oneself and for users who hold
 *   more than the caller; 409 LAST_ADMINISTRATOR. Then nothing has happened.
 */
export async function completeReview(ctx: Ctx<{ id: string }>): Promise<CompletedReview | undefined> {
  const { db, params, caller, ports } = ctx
  const by = userBehind(caller.actor)
  if (by === undefined) throw new Error('who has a permission is a user, or acts for one')
  await beginChange(db)
  const review = await lockReview(db, params.id)
  if (!review) return undefined
  await requireOpen(db, review)
  const [counts, revoked] = [await countDecisions(db, review.id), await listRevoked(db, review.id)]
  if (!counts) throw new Error('a count returned no row')
  await requireDecided(db, review, counts, by)
  await requireMayEnd(db, caller, revoked, by)
  const endings = revoked.map((item) => ({ userId: item.userId, membership: item, named: nameOf(item) }))
  const apiKeys = await endMemberships(ctx, endings, 'removed')
  auditRemovals(ctx, review.id, revoked)
  const completed = await markCompleted(db, review.id, by, ports.clock.now())
  if (!completed) throw new Error(`access review ${review.id} vanished while its row was locked`)
  const { id, name, partnerId, orgId } = review
  const revokedCount = revoked.length
  const alreadyRemovedCount = counts.revokedCount - revokedCount
  const details = { ...counts, revokedCount, alreadyRemovedCount, apiKeys }
  ctx.audited({ type: 'access_review', id, name, partnerId, ...(orgId && { orgId }), details })
  return { ...completed, pendingCount: counts.pendingCount, revokedCount, alreadyRemovedCount }
}

/** As where each of them is removed by itself: who looks for what became of a user finds it. */
function auditRemovals(
  { db, actor, client, ports }: Ctx<{ id: string }>,
  reviewId: string,
  revoked: readonly Revoked[],
) {
  const at = ports.clock.now()
  const entries = revoked.map(({ itemId, userId, userEmail, partnerId, orgId, roleId, roleName }) => ({
    action: 'user.remove',
    result: 'success' as const,
    actor,
    client,
    scope: db.scope,
    at,
    subject: {
      type: 'user',
      id: userId,
      name: userEmail,
      partnerId,
      ...(orgId && { orgId }),
      details: { roleId, role: roleName, reviewId, itemId },
    },
  }))
  writeAudits(db, entries)
}
