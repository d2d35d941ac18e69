import { z } from 'zod'
import { ApiError } from '../../src/kernel/errors.ts'
import { type Route, route } from '../../src/kernel/route.ts'
import type { Db } from '../../src/kernel/tenancy.ts'

const Seen = z.object({ total: z.int(), hostnames: z.array(z.string()) }).meta({ id: 'TestSeen' })
const Count = z.coerce.number().int().min(0).max(60_000)

/** As somebody would write it who forgot the first wall: what is seen here is what the connection lets through. */
const seenBy = (db: Db, waitMs: number) => db.one<z.output<typeof Seen>>`
  select count(*)::int as total, coalesce((array_agg(d.hostname order by d.id))[1:20], '{}') as hostnames
  from devices d where (select pg_sleep(${waitMs / 1_000}::float8)) is not null`

/** @param times statements, each after waiting */
async function lookAround(
  db: Db,
  { waitMs = 0, times = 1 }: { waitMs?: number | undefined; times?: number | undefined },
) {
  for (let more = times - 1; more > 0; more--) await seenBy(db, waitMs)
  return seenBy(db, waitMs)
}

/** In how many ways the transaction of a write comes to nothing, or nearly. */
export const endings = ['statement', 'unparsed', 'later', 'timeout', 'thrown', 'refused'] as const
const Work = z.strictObject({
  ends: z.enum([...endings, 'well']),
  waitMs: Count.optional(),
  times: Count.optional(),
})

async function end(db: Db, ends: z.output<typeof Work>['ends']): Promise<void> {
  switch (ends) {
    case 'well':
      return
    case 'statement':
      return void (await db.one`select 1 / (select count(*) from devices d where d.hostname = 'nobody')`)
    case 'unparsed':
      return void (await db.one`select 'nothing'::uuid`)
    case 'later':
      return db.later`select 1 / (select count(*) from devices d where d.hostname = 'nobody')`
    case 'timeout':
      await db.one`select set_config('statement_timeout', '5', true)`
      return void (await db.one`select pg_sleep(5)`)
    case 'thrown':
      throw new Error('a fault')
    case 'refused':
      throw new ApiError('CONFLICT', 'refused')
  }
}

/** Endpoints that lean on the second wall alone, are slow, or fail in the midst of their work. */
export const bareRoutes: readonly Route[] = [
  route('GET /bare/devices', {
    summary: 'All that the connection lets through',
    can: 'devices:read',
    query: z.object({ waitMs: Count.optional(), times: Count.optional() }),
    returns: Seen,
    run: ({ db, query }) => lookAround(db, query),
  }),
  route('POST /bare/work', {
    summary: 'Looks around in a transaction, waits, and ends it in some way',
    can: 'devices:write',
    audit: { none: 'a test' },
    body: Work,
    returns: Seen,
    run: async ({ db, body }) => {
      const seen = await lookAround(db, body)
      await end(db, body.ends)
      return seen
    },
  }),
]
