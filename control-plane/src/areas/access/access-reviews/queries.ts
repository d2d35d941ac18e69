import type { Page } from '../../../kernel/page.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import type { AccessReview, DecideItem, ItemQuery, ReviewFilter, ReviewItem } from './schema.ts'

/** A review before its items are counted. */
export type ReviewRow = Omit<AccessReview, 'pendingCount'>

/**
 * A review that the caller sees, and that did not go with its organization. One of the partner tells of all its organizations, so
 * it takes somebody who sees them all.
 */
const seen = (db: Db) => db.sql`${db.visible('a')} and ${db.living('a')}
  ${db.scope.kind === 'tenant' && db.scope.orgs !== 'all' ? db.sql`and a.org_id is not null` : db.sql``}`

export const columns = ({ sql }: Db) => sql`
  a.id, a.partner_id, a.org_id, a.name, a.description, a.status, a.reviewer_id, a.created_by, a.due_date, a.completed_at,
  a.completed_by, a.item_count, a.created_at, a.updated_at`

const counted = (db: Db) => db.sql`${columns(db)}, (
  select count(*) from access_review_items i
  where ${db.visible('i')} and i.review_id = a.id and i.decision = 'pending') as pending_count`

const itemColumns = ({ sql }: Db) => sql`
  i.id, i.user_id, i.user_name, i.user_email, i.last_active_at, i.member_org as org_id, i.role_id, i.role_name, i.permissions,
  i.decision, i.notes, i.reviewed_at, i.reviewed_by`

export const listReviews = (db: Db, filter: ReviewFilter, page: Page) => db.rows<AccessReview>`
  select ${counted(db)} from access_reviews a
  where ${seen(db)}
    ${filter.status ? db.sql`and a.status = ${filter.status}` : db.sql``}
    ${filter.orgId ? db.sql`and a.org_id = ${filter.orgId}` : db.sql``}
    ${filter.reviewerId ? db.sql`and a.reviewer_id = ${filter.reviewerId}` : db.sql``}
    ${page.after('a')}
  order by a.created_at desc, a.id desc
  limit ${page.take}`

export const findReview = (db: Db, id: string) => db.one<AccessReview>`
  select ${counted(db)} from access_reviews a where ${seen(db)} and a.id = ${id}`

/** Its row is held until the transaction ends: decisions and a completion come one after the other. */
export const lockReview = (db: Db, id: string) => db.one<ReviewRow>`
  select ${columns(db)} from access_reviews a where ${seen(db)} and a.id = ${id} for no key update of a`

/** @param after the position behind which the page begins */
export const listItems = (
  db: Db,
  reviewId: string,
  { decision }: Pick<ItemQuery, 'decision'>,
  after: number,
  take: number,
) => db.rows<ReviewItem & { position: number }>`
  select ${itemColumns(db)}, i.position from access_review_items i
  where ${db.visible('i')} and i.review_id = ${reviewId} and i.position > ${after}
    ${decision ? db.sql`and i.decision = ${decision}` : db.sql``}
  order by i.position
  limit ${db.atMost(take)}`

/** An item, and what role its user has now; null: that membership has ended. */
export const findItem = (db: Db, reviewId: string, id: string) => db.one<
  ReviewItem & { presentRoleId: string | null }
>`
  select ${itemColumns(db)}, coalesce(
      (select m.role_id from partner_memberships m where ${db.visible('m')} and i.member_org is null
        and m.user_id = i.user_id and m.partner_id = i.partner_id and m.created_at = i.member_since),
      (select m.role_id from organization_memberships m where ${db.visible('m')}
        and m.user_id = i.user_id and m.org_id = i.member_org and m.created_at = i.member_since)) as present_role_id
  from access_review_items i
  where ${db.visible('i')} and i.review_id = ${reviewId} and i.id = ${id}`

/** @param by null takes the decision back */
export const updateItem = (
  db: Db,
  id: string,
  { decision, notes }: Required<DecideItem>,
  by: string | null,
  at: Date,
) =>
  db.one<ReviewItem>`
  update access_review_items i set decision = ${decision}, notes = ${notes ?? null}, reviewed_by = ${by}::uuid,
    reviewed_at = ${by === null ? null : at}::timestamptz
  where ${db.visible('i')} and i.id = ${id}
  returning ${itemColumns(db)}`

export const touchReview = (db: Db, id: string, status: 'pending' | 'in_progress', at: Date) => db.run`
  update access_reviews a set status = ${status}, updated_at = ${at} where ${db.visible('a')} and a.id = ${id}`
