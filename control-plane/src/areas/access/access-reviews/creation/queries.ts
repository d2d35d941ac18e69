import type { Db } from '../../../../kernel/tenancy.ts'
import type { Reviewed } from '../managers/queries.ts'
import { columns, type ReviewRow } from '../queries.ts'

/** Memberships under review, of either kind; those in deleted organizations are over. */
const members = (db: Db, { partnerId, orgId }: Reviewed) => db.sql`
  ${
    orgId === null
      ? db.sql`
  select m.user_id, null::uuid as org_id, m.role_id, m.created_at from partner_memberships m
  where ${db.visible('m')} and m.partner_id = ${partnerId}
  union all`
      : db.sql``
  }
  select m.user_id, m.org_id, m.role_id, m.created_at
  from organization_memberships m join organizations o on o.id = m.org_id
  where ${db.visible('m')} and m.partner_id = ${partnerId} and o.deleted_at is null
    ${orgId === null ? db.sql`` : db.sql`and m.org_id = ${orgId}`}`

export const countOpen = async (db: Db, { partnerId, orgId }: Reviewed): Promise<number> =>
  (
    await db.one<{ n: number }>`
      select count(*)::int as n from access_reviews a
      where ${db.visible('a')} and a.partner_id = ${partnerId} and a.org_id is not distinct from ${orgId}
        and a.status <> 'completed'`
  )?.n ?? 0

export interface NewReview extends Reviewed {
  id: string
  name: string
  description: string | null
  reviewerId: string
  createdBy: string
  dueDate: Date | null
  at: Date
}

/** The review and its items are one statement: what they say was all true at one moment. */
export const insertReview = (db: Db, review: NewReview) => db.one<ReviewRow>`
  with recursive members as (${members(db, review)}), chain as (
    select distinct m.role_id as holder, m.role_id from members m
    union
    select c.holder, r.parent_role_id from chain c join roles r on r.id = c.role_id
    where ${db.visible('r')} and r.parent_role_id is not null
  ), granted as (
    select c.holder, array_agg(distinct p.resource || ':' || p.action) as permissions
    from chain c join role_permissions p on p.role_id = c.role_id where ${db.visible('p')} group by c.holder
  ), items as (
    insert into access_review_items (id, partner_id, org_id, review_id, position, user_id, user_name, user_email, last_active_at,
      member_org, member_since, role_id, role_name, permissions)
    select gen_random_uuid(), ${review.partnerId}::uuid, ${review.orgId}::uuid, ${review.id}::uuid,
      row_number() over (order by lower(u.name), u.email, m.org_id nulls first), u.id, u.name, u.email, u.last_login_at,
      m.org_id, m.created_at, r.id, r.name, coalesce(g.permissions, '{}')
    from members m join users u on u.id = m.user_id join roles r on r.id = m.role_id left join granted g on g.holder = m.role_id
    where ${db.visible('r')}
    returning 1)
  insert into access_reviews as a (id, partner_id, org_id, name, description, reviewer_id, created_by, due_date, created_at,
    updated_at, item_count)
  select ${review.id}::uuid, ${review.partnerId}::uuid, ${review.orgId}::uuid, ${review.name}::text, ${review.description}::text,
    ${review.reviewerId}::uuid, ${review.createdBy}::uuid, ${review.dueDate}::timestamptz, ${review.at}::timestamptz,
    ${review.at}::timestamptz, (select count(*) from items)
  returning ${columns(db)}`
