import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Fragment, Sql } from 'postgres'
import { z } from 'zod'
import { ApiError } from './errors.ts'
import { wholeNumber } from './query-text.ts'
import { rowsAtMost } from './rows-at-most.ts'

/** Generic lists: entries of a page when nothing is said, and at most (interface §Limits). */
export const pageSize = { default: 100, max: 500 } as const

/** A position in a list: where it was made (so that it is good nowhere else) and the keys of the last row shown. */
export interface Cursor {
  route: string
  sort: string
  direction: 'asc' | 'desc'
  keys: readonly (string | number | null)[]
}

/** Opaque to clients, and theirs alone to hand back: every byte is authenticated. */
export interface Cursors {
  write(cursor: Cursor): string
  /** @throws ApiError VALIDATION_ERROR (field `cursor`) for anything not written by `write` for the same route, sort and direction */
  read(text: string, expected: Omit<Cursor, 'keys'>): Cursor['keys']
}

const version = 1
const Body = z.tuple([
  z.literal(version),
  z.string(),
  z.string(),
  z.enum(['asc', 'desc']),
  z.array(z.union([z.string(), z.number(), z.null()])),
])

const refused = (message: string) =>
  new ApiError('VALIDATION_ERROR', 'the cursor is not valid', {
    details: [{ in: 'query', field: 'cursor', message }],
  })

/** Cursors under a secret key: base64url of JSON `[version, route, sort, direction, keys]` and its HMAC-SHA-256. */
export function cursors(key: Uint8Array): Cursors {
  const mac = (text: string) => createHmac('sha256', key).update(text).digest()
  return {
    write({ route, sort, direction, keys }) {
      const text = Buffer.from(JSON.stringify([version, route, sort, direction, keys])).toString('base64url')
      return `${text}.${mac(text).toString('base64url')}`
    },
    read(cursor, expected) {
      const [text = '', tag = '', ...rest] = cursor.split('.')
      const given = Buffer.from(tag, 'base64url')
      const wanted = mac(text)
      if (rest.length > 0 || given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
        throw refused('not a cursor of this server')
      }
      const [, route, sort, direction, keys] = Body.parse(
        JSON.parse(Buffer.from(text, 'base64url').toString()),
      )
      if (route !== expected.route || sort !== expected.sort || direction !== expected.direction) {
        throw refused('made for another list or order')
      }
      return keys
    },
  }
}

/** What a generic list's query needs to show one page: `… and after order by x.newest desc, x.id desc limit take`. */
export interface Page {
  /** `and (alias.newest, alias.id) < (…)`, or nothing on the first page. Goes at the end of the where clause. */
  after(alias: string): Fragment
  /** One more row than is shown: whether it came tells whether there is a next page. */
  readonly take: Fragment
  readonly limit: number
}

/** @param newestBy the snake_case column that orders the list */
export function newestFirst(
  sql: Sql,
  newestBy: string,
  limit: number,
  last: readonly [at: string, id: string] | undefined,
): Page {
  const column = (alias: string) => sql`${sql(alias)}.${sql(newestBy)}`
  return {
    limit,
    take: rowsAtMost(sql, limit + 1),
    after: (alias) =>
      last
        ? sql`and (${column(alias)}, ${sql(alias)}.id) < (${last[0]}::timestamptz, ${last[1]}::uuid)`
        : sql``,
  }
}

/** The query keys that every generic list understands. */
export const PageQuery = {
  limit: wholeNumber(1, pageSize.max)
    .default(pageSize.default)
    .describe(`Rows of a page; ${pageSize.default} when left out`),
  cursor: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('`pagination.cursor` of the page before; absent for the first page'),
}
