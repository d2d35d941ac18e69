import { z } from 'zod'
import { ApiError } from '../../src/kernel/errors.ts'
import { list, type Route, route } from '../../src/kernel/route.ts'
import { type TestApp, testApp } from './app.ts'

/** A table of endpoints made for these tests: organizations stand for any tenant's rows. */
const Thing = z.object({ id: z.uuid(), name: z.string(), createdAt: z.date() }).meta({ id: 'TestThing' })
const NewThing = z.object({
  name: z.string().min(1).max(50),
  nested: z.strictObject({ x: z.int() }).optional(),
})

/** What handlers of the table did, and whom they ask about transactions that are open. */
export const seen = { runs: 0, effects: [] as string[] }
let running: TestApp | undefined

export const thingRoutes: readonly Route[] = [
  list('GET /things', {
    summary: 'All',
    can: 'organizations:read',
    filter: z.object({ name: z.string().optional() }),
    item: Thing,
    newestBy: 'createdAt',
    run: ({ db }, page) => db.rows`
      select o.id, o.name, o.created_at, 'hidden' as secret from organizations o
      where ${db.visible('o')} ${page.after('o')} order by o.created_at desc, o.id desc limit ${page.take}`,
  }),
  route('GET /things/:id', {
    summary: 'One',
    can: 'organizations:read',
    returns: Thing,
    run: ({ db, params }) => db.one`
      select o.id, o.name, o.created_at from organizations o where ${db.visible('o')} and o.id = ${params.id}`,
  }),
  route('POST /things', {
    summary: 'Make one',
    can: 'organizations:write',
    audit: 'thing.make',
    body: NewThing,
    returns: Thing,
    status: 201,
    run: async ({ db, body, audited, emit, after }) => {
      seen.runs++
      const { scope } = db
      if (scope.kind !== 'tenant') throw new Error('no tenant')
      const made = await db.one<z.output<typeof Thing>>`
        insert into organizations (id, partner_id, name, slug)
        values (gen_random_uuid(), ${scope.partnerId}, ${body.name}, ${`t-${crypto.randomUUID()}`}) returning id, name, created_at`
      if (!made) return undefined
      audited({ type: 'thing', id: made.id, name: made.name, orgId: made.id, partnerId: scope.partnerId })
      emit({
        type: 'thing.made',
        subjectId: made.id,
        partnerId: scope.partnerId,
        orgId: made.id,
        payload: { name: body.name },
      })
      after(() => seen.effects.push(made.name))
      after(() => Promise.reject(new Error('an effect that fails')))
      if (body.name === 'slow') await db.one`select pg_sleep(0.3)`
      if (body.name === 'refused') throw new ApiError('CONFLICT', 'refused')
      if (body.name === 'broken') throw new Error('secret detail')
      return made
    },
  }),
  route('POST /things/secret', {
    summary: 'Make one with a secret',
    can: 'organizations:write',
    audit: 'thing.secret',
    idempotent: 'sealed',
    returns: z.object({ secret: z.string() }),
    run: () => ({ secret: `once-${crypto.randomUUID()}` }),
  }),
  route('POST /things/wait', {
    summary: 'Wait',
    can: 'organizations:write',
    audit: 'thing.wait',
    returns: z.object({ handle: z.string(), inTransaction: z.boolean() }),
    run: () => ({ handle: crypto.randomUUID() }),
    answer: async (_ctx, { handle }) => {
      if (!running) throw new Error('no app')
      const open = await running.owner`
        select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`
      return { handle, inTransaction: open.length > 0 }
    },
  }),
  route('POST /things/:id/nothing', {
    summary: 'Nothing',
    can: 'signed-in',
    audit: { none: 'changes nothing' },
    run: () => undefined,
  }),
  route('POST /things/fresh', {
    summary: 'Fresh',
    can: 'signed-in',
    freshMfa: true,
    audit: { none: 'a test' },
    run: () => undefined,
  }),
  route('POST /things/whole', {
    summary: 'Whole',
    can: 'organizations:write',
    fullAccess: true,
    freshMfa: true,
    audit: { none: 'a test' },
    run: () => undefined,
  }),
  route('GET /exempt', {
    summary: 'Exempt',
    can: 'signed-in',
    mfaExempt: true,
    returns: z.object({ ok: z.boolean() }),
    run: () => ({ ok: true }),
  }),
  route('GET /platform', {
    summary: 'Platform',
    can: 'platform',
    returns: z.object({ partners: z.int() }),
    run: async ({ db }) => db.one`select count(*) as partners from partners p where ${db.visible('p')}`,
  }),
  route('POST /public/sign-in', {
    summary: 'As a login does',
    can: 'public',
    audit: 'test.login',
    limit: ['login', 'login-address'],
    body: z.strictObject({ email: z.string(), password: z.string(), partnerId: z.uuid().optional() }),
    prepare: async ({ body, refused }) => {
      if (body.password === 'right') return 'right'
      refused({ action: 'test.login', result: 'failure', details: { reason: 'wrong' } })
      throw new ApiError('UNAUTHENTICATED', 'wrong')
    },
    run: async (ctx, prepared) => {
      if (!ctx.body.partnerId) throw new ApiError('CONFLICT', prepared)
      const seen = await ctx.db.rows`select o.id from organizations o`
      const db = await ctx.establish({ kind: 'tenant', partnerId: ctx.body.partnerId, orgs: 'all' })
      const own = await db.rows`select o.id from organizations o`
      ctx.audited({ type: 'user', details: { before: seen.length, after: own.length } })
    },
  }),
  route('GET /public/nothing', {
    summary: 'Forgot its scope',
    can: 'public',
    returns: z.object({ seen: z.int(), who: z.string() }),
    run: async ({ db, caller }) => {
      const row = await db.one<{ seen: number }>`select count(*) as seen from organizations`
      return { seen: row?.seen ?? -1, who: caller.kind }
    },
  }),
  route('GET /public/misuse', {
    summary: 'Emits outside of a transaction',
    can: 'public',
    returns: z.object({}),
    run: async ({ emit }) => {
      emit({
        type: 'x',
        subjectId: crypto.randomUUID(),
        partnerId: crypto.randomUUID(),
        orgId: null,
        payload: {},
      })
      return {}
    },
  }),
]

/** The API with the endpoints of this table instead of the product's. */
export async function thingsApp(): Promise<TestApp> {
  running = await testApp({ routes: thingRoutes })
  return running
}

/** Well-formed, and the id of nothing. */
export const anyId = '01a21f8a-3ea1-71ca-a52c-014e2d5cab46'
