import type { Fragment, Sql } from 'postgres'
import { template } from './statement.ts'

/** Sizes of a page that callers ask for; any other is worked off all the same, at the price of a plan of its own. */
const usualSizes = [10, 20, 25, 50, 100, 200, 250, 500, 1_000]
const texts = new Map(
  usualSizes.flatMap((size) => [size, size + 1]).map((rows) => [rows, template(String(rows))]),
)

/**
 * The number of a `limit`. A usual one (or one more, which tells whether there is a next page) stands in the text: Postgres then knows
 * it when it plans a prepared statement for good, where for a parameter it takes a tenth of the table and plans each time anew, which
 * costs more than reading the page. There are few of them, so the statements that a connection keeps stay few.
 */
export function rowsAtMost(sql: Sql, rows: number): Fragment {
  const text = texts.get(rows)
  return text ? sql(text) : sql`${rows}`
}
