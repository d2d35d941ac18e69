import { v7 as uuid } from 'uuid'
import type { Caller, Ctx } from '../../../../kernel/context.ts'
import { userBehind } from '../../../../kernel/context.ts'
import { ApiError, wrongField } from '../../../../kernel/errors.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { partnerOfOrganization } from '../../../tenancy/orgs/organizations/service.ts'
import { findMember, type Reviewed } from '../managers/queries.ts'
import type { AccessReview, CreateAccessReview } from '../schema.ts'
import { countOpen, insertReview } from './queries.ts'

/** Reviews of one partner or organization that are not completed yet, and memberships in one of them. */
const most = { open: 1_000, memberships: 20_000 }

/**
 * A review of the memberships that there are at this moment. Undefined (404) for an organization that the caller does not see, and
 * for a reviewer who is no member of what is reviewed, or of its partner.
 *
 * @throws ApiError 400 for a reviewer who may not manage all of its users, and for a due date that is past; 409 LIMIT_REACHED
 */
export async function createReview(
  ctx: Ctx<Record<string, never>, unknown, CreateAccessReview>,
): Promise<AccessReview | undefined> {
  const { db, body, actor, caller, ports } = ctx
  const at = ports.clock.now()
  const [dueDate, by] = [dueAfter(at, body.dueDate), userBehind(actor)]
  if (by === undefined) throw new Error('who has a permission is a user, or acts for one')
  const reviewed = await whoseMembers(db, caller, body.orgId)
  if (!reviewed) return undefined
  const reviewerId = body.reviewerId ?? by
  if (reviewerId !== by && !(await isMember(db, reviewed, reviewerId))) return undefined
  const { name, description = null } = body
  await requireRoom(db, reviewed)
  const review = await insertReview(db, {
    ...reviewed,
    id: uuid(),
    name,
    description,
    reviewerId,
    createdBy: by,
    dueDate,
    at,
  })
  if (!review) throw new Error('an insert without a conflict clause returned no row')
  const { id, partnerId, orgId, itemCount } = review
  if (itemCount > most.memberships) throw tooMany('memberships for one review', most.memberships)
  const details = { reviewerId, dueDate, itemCount }
  ctx.audited({ type: 'access_review', id, name, partnerId, ...(orgId && { orgId }), details })
  return { ...review, pendingCount: itemCount }
}

/** @throws ApiError 409 LIMIT_REACHED */
async function requireRoom(db: Db, reviewed: Reviewed): Promise<void> {
  if ((await countOpen(db, reviewed)) >= most.open)
    throw tooMany('open reviews: complete one first', most.open)
}

const tooMany = (what: string, limit: number) =>
  new ApiError('LIMIT_REACHED', `too many ${what}`, { details: [{ most: limit }] })

function dueAfter(now: Date, text: string | undefined): Date | null {
  if (text === undefined) return null
  const due = new Date(text)
  if (due > now) return due
  throw wrongField('dueDate', 'must be in the future')
}

/** What the caller's login is for, or the one organization of it that is named. Undefined: they see no such organization. */
async function whoseMembers(
  db: Db,
  { membership }: Caller,
  wanted: string | undefined,
): Promise<Reviewed | undefined> {
  if (db.scope.kind !== 'tenant' || !membership) throw new Error('who has a permission has a membership')
  const { partnerId } = db.scope
  const orgId = wanted ?? (membership.kind === 'organization' ? membership.id : null)
  if (orgId === null) return { partnerId, orgId }
  return (await partnerOfOrganization(db, orgId)) === undefined ? undefined : { partnerId, orgId }
}

/** @throws ApiError 400 for a member who may not do it */
async function isMember(db: Db, reviewed: Reviewed, reviewerId: string): Promise<boolean> {
  const member = await findMember(db, reviewed, reviewerId)
  if (member && !member.manages) {
    throw wrongField('reviewerId', 'must be an active user who may manage all users that are reviewed')
  }
  return member !== undefined
}
