import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Fragment, Sql } from 'postgres'
import { z } from 'zod'
import type { Ctx } from './context.ts'
import { ApiError } from './errors.ts'
import { wholeNumber } from './query-text.ts'
import { rowsAtMost } from './rows-at-most.ts'

/** Generic lists: entries of a page when nothing is said, and at most (interface §Limits). */
export const pageSize = { default: 100, max: 500 } as const

/** A list and its order. */
export interface Order {
  route: string
  sort: string
  direction: 'asc' | 'desc'
}

/** A list as somebody asked for it: a cursor that was made in one is good in no other. Made by {@link placeOf}. */
export interface Place extends Order {
  /** digest of who asked, of what, and with which filters */
  asked: string
}

/** A position in a list: where it was made, and the keys of the last row shown. */
export interface Cursor extends Place {
  keys: readonly (string | number | null)[]
}

/** What may differ from page to page, and what the order says. */
const ofThePage = new Set(['cursor', 'limit', 'includeTotal', 'sort', 'sortDir'])

/** Where a caller is with their list. Pages of another size are of the same one, and so are those of their next login. */
export function placeOf(
  { caller: { actor, membership }, params, query }: Pick<Ctx<object, object>, 'caller' | 'params' | 'query'>,
  order: Order,
): Place {
  const filters = Object.entries(query)
    .filter(([name, value]) => !ofThePage.has(name) && value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const who = [actor.type, 'id' in actor ? actor.id : null, membership?.id ?? null]
  const asked = createHash('sha256').update(JSON.stringify([who, params, filters]))
  return { ...order, asked: asked.digest('base64url') }
}

/** Opaque to clients, and theirs alone to hand back: every byte is authenticated. */
export interface Cursors {
  write(cursor: Cursor): string
  /** @throws ApiError VALIDATION_ERROR (field `cursor`) for anything not written by `write` for the same place */
  read(text: string, expected: Place): Cursor['keys']
}

const version = 2
const Body = z.tuple([
  z.literal(version),
  z.string(),
  z.string(),
  z.enum(['asc', 'desc']),
  z.string(),
  z.array(z.union([z.string(), z.number(), z.null()])),
])

const refused = (message: string) =>
  new ApiError('VALIDATION_ERROR', 'the cursor is not valid', {
    details: [{ in: 'query', field: 'cursor', message }],
  })

/**
 * Cursors under a secret key: base64url of JSON `[version, route, sort, direction, asked, keys]` and its HMAC-SHA-256.
 *
 * @param secrets the first writes, each reads
 */
export function cursors(secrets: () => readonly Uint8Array[]): Cursors {
  const macs = (text: string) => secrets().map((key) => createHmac('sha256', key).update(text).digest())
  return {
    write({ route, sort, direction, asked, keys }) {
      const body: z.output<typeof Body> = [version, route, sort, direction, asked, [...keys]]
      const text = Buffer.from(JSON.stringify(body)).toString('base64url')
      return `${text}.${macs(text)[0]?.toString('base64url')}`
    },
    read(cursor, expected) {
      const [text = '', tag = '', ...rest] = cursor.split('.')
      const given = Buffer.from(tag, 'base64url')
      const ours = (wanted: Buffer) => given.length === wanted.length && timingSafeEqual(given, wanted)
      if (rest.length > 0 || !macs(text).some(ours)) {
        throw refused('not a cursor of this server')
      }
      const body = Body.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString()))
      if (!body.success) throw refused('made by another version of the server')
      const [, route, sort, direction, asked, keys] = body.data
      if (route !== expected.route || sort !== expected.sort || direction !== expected.direction) {
        throw refused('made for another list or order')
      }
      if (asked !== expected.asked) throw refused('made for another caller or with other filters')
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
