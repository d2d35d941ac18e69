import type { Fragment } from 'postgres'
import type { Db } from '../../../../kernel/tenancy.ts'
import { entries } from '../entries/queries.ts'
import type { Filter } from '../entries/schema.ts'

/** Newest first. The number stands in no list of usual sizes: an export is planned each time. */
export const allEntries = (db: Db, filter: Filter, most: number): Fragment =>
  entries(db, { filter }, db.sql`${most}`)

/** How many there are, at most so many. */
export async function countEntries(db: Db, filter: Filter, most: number): Promise<number> {
  const row = await db.one<{ count: number }>`
    select count(*)::int as count from (${entries(db, { filter }, db.sql`${most}`)}) a`
  return row?.count ?? 0
}
