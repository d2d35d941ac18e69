import postgres from 'postgres'
import type { z } from 'zod'
import type { Ctx } from './context.ts'
import { envelope } from './envelope.ts'
import { newestFirst, placeOf } from './page.ts'
import type { ListSpec } from './route.ts'
import { exactText } from '../adapters/timestamps.ts'

interface Paged {
  limit: number
  cursor?: string | undefined
}

/** Wraps a list's `run`: reads the cursor, asks for one row more than it shows, and makes the next cursor of the last one shown. */
export function listEnvelope<R extends `GET /${string}`, F, I extends z.ZodType>(
  name: R,
  spec: ListSpec<R, F, I>,
) {
  const order = { route: name, sort: spec.newestBy, direction: 'desc' } as const
  const column = postgres.fromCamel(spec.newestBy)
  return async (ctx: Ctx<never, Paged, unknown>) => {
    const { limit, cursor, ...query } = ctx.query
    const { cursors } = ctx.ports
    const place = placeOf(ctx, order)
    const last = cursor === undefined ? undefined : (cursors.read(cursor, place) as [string, string])
    const page = newestFirst(ctx.db.sql, column, limit, last)
    const rows = (await spec.run({ ...ctx, query } as never, page)) as Record<string, unknown>[]
    const data = rows.slice(0, limit)
    const shown = data.at(-1)
    if (rows.length <= limit || !shown) return envelope(data, null)
    const keys = [exactText(shown[spec.newestBy] as Date), String(shown['id'])]
    return envelope(data, cursors.write({ ...place, keys }))
  }
}
