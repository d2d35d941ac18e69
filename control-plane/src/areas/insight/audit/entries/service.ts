import { exactText } from '../../../../adapters/timestamps.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { envelope } from '../../../../kernel/envelope.ts'
import { placeOf } from '../../../../kernel/page.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { isId } from './conditions/queries.ts'
import { entryOf } from './entry.ts'
import { endsAt, fewMatches, newest } from './queries.ts'
import type { AuditRow, EntryQuery, Filter } from './schema.ts'
import { nearRows, stretchesOf, type Wanted } from './windows/queries.ts'

type Key = readonly [at: string, id: string]
const keyOf = ({ at, id }: { at: Date; id: string }): Key => [exactText(at), id]

/** Rows, and where to look on; without a key there is nothing more. */
interface Found {
  rows: AuditRow[]
  next?: Key
}

/** What is rare as a rule, and has no index in the order of time. */
const isRare = ({ q, resource, actor }: Filter) =>
  Boolean(q ?? resource) || (actor !== undefined && !isId(actor))

/** A page of rows of which there is one more than it shows, if there is more. */
function pageOf(rows: AuditRow[], limit: number): Found {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return rows.length > limit && last ? { rows: shown, next: keyOf(last) } : { rows: shown }
}

/** Texts of times in UTC sort as the times do. */
const isBefore = (a: Key, b: Key) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1])

/**
 * The newest rows that a filter leaves. No page costs more than looking at some thousand rows: what is in the newest of them is there,
 * what is rare is found by its words wherever it is, and of what is neither a page has what there is among those looked at, be that nothing,
 * and tells where to look on.
 */
export async function findPage(db: Db, filter: Filter, limit: number, after?: Key): Promise<Found> {
  const wanted: Wanted = { filter, after, take: limit + 1 }
  const stretches = stretchesOf(db, wanted).length
  if (stretches === 0) return { rows: [] }
  const rare = isRare(filter)
  if (rare && stretches === 1) {
    const near = await newest(db, { ...wanted, within: nearRows })
    if (near.length > limit) return pageOf(near, limit)
  }
  const few = rare ? await fewMatches(db, wanted) : undefined
  if (few) return pageOf(few, limit)
  const rows = await newest(db, wanted)
  // Of several stretches one may end before the others, and lack rows that belong between theirs.
  if (rows.length > limit && stretches === 1) return pageOf(rows, limit)
  const end = await endsAt(db, wanted)
  if (!end) return pageOf(rows, limit)
  const key = keyOf(end)
  const sure = rows.filter((row) => !isBefore(keyOf(row), key))
  if (sure.length > limit) return pageOf(sure, limit)
  const all = rare ? undefined : await fewMatches(db, wanted)
  return all ? pageOf(all, limit) : { rows: sure, next: key }
}

/** `GET /audit/logs`, `/audit` and `/audit/search`: each with cursors of its own. */
export const listEntries = (route: string) => async (ctx: Ctx<object, EntryQuery, unknown>) => {
  const { limit, cursor, ...filter } = ctx.query
  const place = placeOf(ctx, { route, sort: 'timestamp', direction: 'desc' })
  const after = cursor === undefined ? undefined : (ctx.ports.cursors.read(cursor, place) as unknown as Key)
  const { rows, next } = await findPage(ctx.db, filter, limit, after)
  return envelope(rows.map(entryOf), next ? ctx.ports.cursors.write({ ...place, keys: next }) : null)
}
