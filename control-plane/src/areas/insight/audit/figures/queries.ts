import type { Db } from '../../../../kernel/tenancy.ts'
import type { UserActivity } from './schema.ts'

/** Of when, and of which organization. */
export interface Span {
  from: Date
  to: Date
  orgId?: string | undefined
}

const counted = (db: Db, { from, to, orgId }: Span) => db.sql`
  ${db.visibleDevice('a', 'resource_id')} and a.at >= ${from} and a.at < ${to}
  ${orgId ? db.sql`and a.org_id = ${orgId}` : db.sql``}`

export interface ActionCount {
  action: string
  result: 'success' | 'failure' | 'denied'
  count: number
}

/** By action and result. @param actions only these */
export const countActions = (db: Db, span: Span, actions?: readonly string[]) => db.rows<ActionCount>`
  select a.action, a.result, count(*)::int as count from audit_log a
  where ${counted(db, span)} ${actions ? db.sql`and a.action = any (${[...actions]}::text[])` : db.sql``}
  group by a.action, a.result order by count(*) desc, a.action, a.result`

/** By day of UTC. */
export const countDays = (db: Db, span: Span) => db.rows<{ day: string; count: number }>`
  select ((a.at at time zone 'UTC')::date)::text as day, count(*)::int as count from audit_log a
  where ${counted(db, span)} group by 1 order by 1`

/** Who did most, and of how many. */
export const countUsers = (db: Db, span: Span, most: number) => db.rows<
  UserActivity & { users: number; events: number }
>`
  select u.*, (count(*) over ())::int as users, (sum(u.action_count) over ())::int as events
  from (
    select a.actor_id as user_id, (array_agg(a.actor_email order by a.at desc, a.id desc))[1] as user_email,
      count(*)::int as action_count, max(a.at) as last_active_at
    from audit_log a where ${counted(db, span)} and a.actor_type = 'user' and a.actor_id is not null
    group by a.actor_id
  ) u order by u.action_count desc, u.user_id limit ${db.atMost(most)}`
