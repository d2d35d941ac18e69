import type { Fragment } from 'postgres'
import type { Db } from '../../../../kernel/tenancy.ts'
import { saidBy, within, wordsOf } from './conditions/queries.ts'
import type { AuditRow } from './schema.ts'
import { afterOf, endOf, stretch, stretchesOf, united, type Wanted } from './windows/queries.ts'

/** More rows than this are not fetched one by one from all over the table. */
export const mostMatches = 5_000

/** No limit: the greatest integer. */
const allOfThem = 2_147_483_647

export const columns = ({ sql }: Db) => sql`
  a.id, a.org_id, a.at, a.actor_type, a.actor_id, a.actor_email, a.on_behalf_of, a.action, a.resource_type, a.resource_id,
  a.resource_name, a.result, host(a.ip) as ip, a.user_agent, a.request_id, a.details`

export const findEntry = (db: Db, id: string) => db.one<AuditRow>`
  select ${columns(db)} from audit_log a where ${db.visibleDevice('a', 'resource_id')} and a.id = ${id}`

// `is true` makes of what a function gives a table that each row is looked up in; joined, it would be read once for each row, in the
// hope that few are wanted.

/** A whole selection, newest first. @param most rows */
export const entries = (db: Db, wanted: Omit<Wanted, 'take'>, most: Fragment) => db.sql`
  select ${columns(db)} from audit_log a
  where ${db.visibleDevice('a', 'resource_id')} ${saidBy(db, wanted.filter)} ${within(db, wanted.filter)}
    ${wanted.filter.orgId ? db.sql`and a.org_id = ${wanted.filter.orgId}` : db.sql``}
    ${wanted.filter.q ? db.sql`and (a.id in (select m.id from svc.audit_matches(${wordsOf(db, wanted.filter)}, ${allOfThem}) m)) is true` : db.sql``}
  order by a.at desc, a.id desc limit ${most}`

/** Of a stretch, what the filter leaves. Words are looked up for all of it at once, everything else row by row until the page is full. */
function found(db: Db, wanted: Wanted, of: Parameters<typeof stretch>[2]): Fragment {
  const { filter, take } = wanted
  const { sql } = db
  const searched = sql`(select s.* from (with w as materialized (${stretch(db, wanted, of)})
    select w.* from w where (w.id in (select svc.audit_among((select array_agg(w.id) from w), ${wordsOf(db, filter)}))) is true) s)`
  return sql`(select a.* from ${filter.q ? searched : sql`(${stretch(db, wanted, of)})`} a
    where ${db.visibleDevice('a', 'resource_id')} ${saidBy(db, filter)}
    order by a.at desc, a.id desc limit ${db.atMost(take)})`
}

/** The newest rows among those that are looked at: see {@link endsAt} for how far that is. */
export const newest = (db: Db, wanted: Wanted) => {
  const all = stretchesOf(db, wanted).map((of) => found(db, wanted, of))
  return all.length === 0
    ? Promise.resolve([])
    : db.rows<AuditRow>`select ${columns(db)} from (${united(db, all)}) a
        order by a.at desc, a.id desc limit ${db.atMost(wanted.take)}`
}

/** Up to where everything was looked at; undefined: to the end of the log. */
export const endsAt = async (db: Db, wanted: Wanted) => {
  const ends = stretchesOf(db, wanted).map((of) => endOf(db, wanted, of))
  return ends.length === 0
    ? undefined
    : db.one<{ at: Date; id: string }>`
        select e.at, e.id from (${united(db, ends)}) e order by e.at desc, e.id desc limit 1`
}

/**
 * All rows that match, wherever in time they are, unless they are too many: then undefined. Words know the times of their rows, so rows
 * are fetched newest first, and no more than are wanted.
 */
export async function fewMatches(db: Db, wanted: Wanted): Promise<AuditRow[] | undefined> {
  const { filter } = wanted
  const rows = await db.rows<AuditRow & { found: number }>`
    with found as materialized (
      select m.id, m.at from svc.audit_matches(${wordsOf(db, filter)}, ${mostMatches + 1}) as m),
    newest as (
      select array_agg(a.id order by a.at desc, a.id desc) as ids from found a
      where true ${within(db, filter)} ${afterOf(db, wanted)})
    select c.found, a.* from (select count(*)::int as found from found) c
    left join lateral (
      select ${columns(db)} from unnest((select n.ids from newest n)) with ordinality as f (id, place)
      join audit_log a on a.id = f.id and ${db.visibleDevice('a', 'resource_id')} ${saidBy(db, filter)}
      order by f.place limit ${db.atMost(wanted.take)}
    ) a on c.found <= ${mostMatches}`
  if ((rows[0]?.found ?? 0) > mostMatches) return undefined
  return rows.filter(({ id }) => id !== null)
}
