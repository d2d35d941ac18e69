import type { Db } from '../../../../kernel/tenancy.ts'
import { columns, type ReviewRow } from '../queries.ts'

/** How a review stands. */
export interface Counts {
  itemCount: number
  approvedCount: number
  revokedCount: number
  pendingCount: number
}

export const countDecisions = (db: Db, reviewId: string) => db.one<Counts>`
  select count(*) as item_count, count(*) filter (where i.decision = 'approved') as approved_count,
    count(*) filter (where i.decision = 'revoked') as revoked_count,
    count(*) filter (where i.decision = 'pending') as pending_count
  from access_review_items i where ${db.visible('i')} and i.review_id = ${reviewId}`

/** Has anybody's item but this user's not been decided on? */
export const findPendingOfOthers = (db: Db, reviewId: string, userId: string) => db.one<{ exists: boolean }>`
  select exists (select from access_review_items i
    where ${db.visible('i')} and i.review_id = ${reviewId} and i.decision = 'pending' and i.user_id <> ${userId}) as exists`

/** A membership that is there and is to end: what it is now, which may be more than when it was reviewed. */
export interface Revoked {
  itemId: string
  userId: string
  userEmail: string
  partnerId: string
  orgId: string | null
  roleId: string
  roleName: string
  orgAccess: 'all' | 'selected' | 'none' | null
}

/** Not those that have ended since, were given anew, or went with their organization. Each is looked up by its key: there may be thousands. */
export const listRevoked = (db: Db, reviewId: string) => db.rows<Revoked>`
  select i.id as item_id, i.user_id, i.user_email, i.partner_id, i.member_org as org_id, m.role_id, r.name as role_name, m.org_access
  from access_review_items i cross join lateral (
    select m.role_id, m.org_access, m.created_at from partner_memberships m
    where ${db.visible('m')} and i.member_org is null and m.user_id = i.user_id and m.partner_id = i.partner_id
    union all
    select m.role_id, null, m.created_at from organization_memberships m
    where ${db.visible('m')} and m.user_id = i.user_id and m.org_id = i.member_org and ${db.living('m')}) m
    join roles r on r.id = m.role_id and ${db.visible('r')}
  where ${db.visible('i')} and i.review_id = ${reviewId} and i.decision = 'revoked' and m.created_at = i.member_since
  order by i.position`

export const markCompleted = (db: Db, id: string, by: string, at: Date) => db.one<ReviewRow>`
  update access_reviews a set status = 'completed', completed_at = ${at}, completed_by = ${by}, updated_at = ${at}
  where ${db.visible('a')} and a.id = ${id}
  returning ${columns(db)}`
