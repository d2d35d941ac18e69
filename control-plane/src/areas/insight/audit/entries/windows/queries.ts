import type { Fragment } from 'postgres'
import type { Db } from '../../../../../kernel/tenancy.ts'
import { among, isId, whoActed, within } from '../conditions/queries.ts'
import type { Filter } from '../schema.ts'

/** Rows that are looked at for one page, however few of them belong on it: some ten milliseconds' work. */
export const windowRows = 10_000
/** What of them is looked at word by word. */
const searchedRows = 4_000
/** The newest rows, looked at before anything else: what is common is among them. */
export const nearRows = 2_000

/** A page of the log that is wanted. */
export interface Wanted {
  filter: Filter
  /** after the row of this time and id */
  after?: readonly [at: string, id: string] | undefined
  take: number
  /** rows that are looked at; default: as many as a page may cost */
  within?: number
}

/** A stretch of the log, newest first, and how an index reaches it without anything in between. */
interface Stretch {
  where: Fragment
  rows: number
}

/** Whole of a partner: by actor or action where one is asked for, as there is an index on each in the order of time. */
function straight(db: Db, { actor, action }: Filter): Fragment {
  if (actor && isId(actor)) return whoActed(db, actor)
  return action?.length === 1 ? among(db, action) : db.sql``
}

/**
 * Where the rows are that a caller sees: one stretch for all of a partner, else one for each organization, as the rows between those
 * of an organization are somebody else's.
 */
export function stretchesOf(db: Db, { filter, within: most }: Pick<Wanted, 'filter' | 'within'>): Stretch[] {
  const { scope, sql } = db
  if (scope.kind !== 'tenant') return []
  const rows = most ?? (filter.q ? searchedRows : windowRows)
  const { orgs, partnerLevel } = scope
  const ofOrg = (org: string) => sql`and a.org_id = ${org}::uuid`
  if (filter.orgId) {
    const seen = orgs === 'all' || orgs.includes(filter.orgId)
    return seen ? [{ where: ofOrg(filter.orgId), rows }] : []
  }
  if (orgs === 'all') return [{ where: straight(db, filter), rows }]
  const places = [...orgs.map(ofOrg), ...(partnerLevel ? [sql`and a.org_id is null`] : [])]
  const each = Math.max(200, Math.floor(rows / Math.max(1, places.length)))
  return places.map((where) => ({ where, rows: each }))
}

const afterOf = ({ sql }: Db, { after }: Wanted) =>
  after ? sql`and (a.at, a.id) < (${after[0]}::timestamptz, ${after[1]}::uuid)` : sql``

/** The newest rows of a stretch. */
export const stretch = (db: Db, wanted: Wanted, { where, rows }: Stretch) => db.sql`
  select a.* from audit_log a
  where ${db.visible('a')} ${where} ${within(db, wanted.filter)} ${afterOf(db, wanted)}
  order by a.at desc, a.id desc limit ${db.sql`${rows}`}`

/** Where what was looked at of a stretch ends: nothing where that was all there is. */
export const endOf = (db: Db, wanted: Wanted, { where, rows }: Stretch) => db.sql`
  (select a.at, a.id from audit_log a
  where ${db.visible('a')} ${where} ${within(db, wanted.filter)} ${afterOf(db, wanted)}
  order by a.at desc, a.id desc limit 1 offset ${rows - 1})`

/** Fragments with `union all` between them. */
export const united = ({ sql }: Db, [first, ...more]: Fragment[]): Fragment =>
  more.reduce((all, next) => sql`${all} union all ${next}`, first ?? sql`select null where false`)

export { afterOf }
