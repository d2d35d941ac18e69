import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { catalogue, type ErrorCode } from '../../src/kernel/errors.ts'
import { testApp } from '../harness/app.ts'
import { appWith } from './world/app-with.ts'
import { call, table, takesAnything, type CallOptions, type Reply } from './world/calls.ts'
import type { Caller } from './world/callers.ts'
import { makeWorld } from './world/things.ts'

const world = await makeWorld(await testApp())
const { own } = world.places
const things = await world.things('own')

/** Full rights, and a login that no call of this file ends: each request is refused before it acts, or is a read. */
const caller: Caller = { person: await world.people.partnerAdmin(own.partnerId) }
const platform: Caller = { person: await world.people.platformAdmin() }
const platforms = new Set(table.filter(({ route }) => route.can === 'platform').map(({ name }) => name))
const ask = (name: string, more: Partial<CallOptions> = {}) =>
  call(world, name, { caller: platforms.has(name) ? platform : caller, things, ...more })

/** interface §Errors; `retryAfter` stands beside `error` where the limit or the outage says how long. */
const Envelope = z.strictObject({
  error: z.strictObject({
    code: z.enum(Object.keys(catalogue) as [ErrorCode, ...ErrorCode[]]),
    message: z.string().min(1),
    details: z.array(z.record(z.string(), z.unknown())),
  }),
  retryAfter: z.int().min(1).optional(),
})

/** Checks the one envelope, and that the status is the code's own. */
function refusal(reply: Reply): { code: ErrorCode; fields: unknown[] } {
  const { error } = Envelope.parse(reply.json)
  expect(reply.status).toBe(catalogue[error.code][0])
  return { code: error.code, fields: error.details.map(({ field }) => field) }
}

const strict = table.flatMap(({ name, route }) => (takesAnything(route) ? [] : [name]))
const writes = table.filter(({ route }) => route.method !== 'GET').map(({ name }) => name)

/** A body as bytes, whatever a JSON writer would make of it. */
const raw = (name: string, body: string, headers: Record<string, string> = {}) =>
  ask(name, { body, headers: { 'content-type': 'application/json', ...headers } })

describe('refused with the one envelope, naming what is wrong', () => {
  test.each(strict)('%s: an unknown query key', async (name) => {
    const reply = await ask(name, { query: { surprise: '1' }, body: undefined })
    expect(refusal(reply).code).toBe('VALIDATION_ERROR')
    expect(refusal(reply).fields).toContain('surprise')
  })

  test.each(writes)('%s: an unknown body key', async (name) => {
    // A field that a careless handler would write, and one of nobody's.
    const extra = { partnerId: own.partnerId, isSystem: true, surprise: 1 }
    const sample = table.find((entry) => entry.name === name)?.sample.body ?? {}
    const plain = Object.fromEntries(Object.entries(sample).filter(([, value]) => typeof value !== 'object'))
    const { code, fields } = refusal(await ask(name, { body: { ...plain, ...extra } }))
    expect(code).toBe('VALIDATION_ERROR')
    expect(fields).toEqual(expect.arrayContaining(['partnerId', 'isSystem', 'surprise']))
  })

  test.each(writes)('%s: a body that is no object', async (name) => {
    for (const body of ['[]', '"text"', '42', 'true']) {
      expect(refusal(await raw(name, body)).code).toBe('VALIDATION_ERROR')
    }
  })

  test.each(writes)('%s: a body that is not JSON', async (name) => {
    for (const body of ['{', '{"a":1}}', "{'a':1}", '{"a":}', '\u0000', '{"a":NaN}']) {
      expect(refusal(await raw(name, body)).code).toBe('BAD_REQUEST')
    }
  })

  test.each(writes)('%s: a body of another type', async (name) => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
    ]) {
      expect(refusal(await raw(name, '{"a":1}', { 'content-type': type })).code).toBe(
        'UNSUPPORTED_MEDIA_TYPE',
      )
    }
  })

  test.each(writes)('%s: a body over the limits of size, depth and keys', async (name) => {
    const size = `"${'x'.repeat(1024 * 1024 - 1)}"`
    const depth = '{"a":'.repeat(33) + '1' + '}'.repeat(33)
    const keys = JSON.stringify(
      Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`k${index}`, 1])),
    )
    expect(size).toHaveLength(1024 * 1024 + 1)
    for (const body of [size, depth, keys])
      expect(refusal(await raw(name, body)).code).toBe('PAYLOAD_TOO_LARGE')
  })

  test.each(writes)('%s: at the limits it is read', async (name) => {
    const size = `"${'x'.repeat(1024 * 1024 - 2)}"`
    const depth = '{"a":'.repeat(32) + '1' + '}'.repeat(32)
    const keys = JSON.stringify(
      Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, 1])),
    )
    const codes = await Promise.all(
      [size, depth, keys].map(async (body) => refusal(await raw(name, body)).code),
    )
    expect(codes.filter((code) => code === 'PAYLOAD_TOO_LARGE')).toEqual([])
  })

  test.each(writes)('%s: keys that reach into objects', async (name) => {
    for (const body of [
      '{"__proto__":{"admin":true}}',
      '{"a":{"__proto__":1}}',
      '{"constructor":{"prototype":{"admin":true}}}',
    ]) {
      expect(['BAD_REQUEST', 'VALIDATION_ERROR']).toContain(refusal(await raw(name, body)).code)
    }
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })
})

test('what no route serves is 404, and another method is 405 that says which are allowed', async () => {
  const missing = await world.app.inject({ url: '/api/v1/surprise' })
  expect(refusal({ status: missing.statusCode, text: missing.body, json: missing.json() }).code).toBe(
    'NOT_FOUND',
  )
  for (const { route } of table) {
    const url = `/api/v1${route.path.replaceAll(/:\w+/g, things.device)}`
    const other = await world.app.inject({ method: 'PUT', url, payload: {} })
    expect(refusal({ status: other.statusCode, text: other.body, json: other.json() }).code).toBe(
      'METHOD_NOT_ALLOWED',
    )
    expect(String(other.headers['allow']).split(', ')).toContain(route.method)
  }
})

describe('lists', () => {
  const lists = table.filter(({ route }) => route.list)
  const Generic = z.strictObject({
    data: z.array(z.record(z.string(), z.unknown())),
    pagination: z.strictObject({ hasMore: z.boolean(), cursor: z.string().nullable() }),
  })
  const Devices = z.strictObject({
    devices: z.array(z.record(z.string(), z.unknown())),
    nextCursor: z.string().nullable(),
    limit: z.int(),
    total: z.int().optional(),
  })

  test('every list of a sample has the generic envelope, or is the device list', async () => {
    const enveloped = table.filter(
      ({ route }) => 'pagination' in ((route.returns as z.ZodObject | undefined)?.shape ?? {}),
    )
    for (const { name } of enveloped) Generic.parse((await ask(name)).json)
    expect(enveloped.length).toBeGreaterThan(lists.length) // lists of one page are alike
    const others = table.filter(({ sample, route }) => sample.lists && !route.list).map(({ name }) => name)
    expect(others).toEqual(['GET /devices']) // interface §Paging envelopes
    expect(lists.filter(({ sample }) => !sample.lists && !sample.everybodys)).toEqual([])
  })

  test.each(lists.map(({ name }) => name))(
    '%s has the envelope, its limits, and pages without gap or repetition',
    async (name) => {
      await Promise.all(Array.from({ length: 3 }, () => world.things('own')))
      await world.make.site(await world.make.org(own.partnerId))
      const whole = Generic.parse((await ask(name, { query: { limit: '500' } })).json)
      expect(whole.pagination).toEqual({ hasMore: false, cursor: null })
      const seen: unknown[] = []
      let cursor: string | null = null
      do {
        const page = Generic.parse(
          (await ask(name, { query: { limit: '1', ...(cursor && { cursor }) } })).json,
        )
        expect(page.data.length).toBe(1)
        expect(page.pagination.hasMore).toBe(page.pagination.cursor !== null)
        seen.push(...page.data.map(({ id }) => id))
        cursor = page.pagination.cursor
      } while (cursor)
      expect(seen).toEqual(whole.data.map(({ id }) => id))
      expect(seen.length).toBeGreaterThan(1)
      for (const limit of ['0', '501', '-1', '1.5', 'many', '']) {
        expect(refusal(await ask(name, { query: { limit } })).fields).toEqual(['limit'])
      }
      for (const bad of ['', 'x', `${whole.data.length}`]) {
        expect(refusal(await ask(name, { query: { cursor: bad } })).fields).toEqual(['cursor'])
      }
    },
  )

  test('the device list has its own', async () => {
    Devices.parse((await ask('GET /devices')).json)
    expect(refusal(await ask('GET /devices', { query: { limit: '1001' } })).fields).toEqual(['limit'])
  })
})

describe('answers', async () => {
  /** Fields that hold whatever their owner put there. */
  const freeForm = ['customFields', 'payload', 'result', 'details']

  /** The handler’s value with columns that no answer declares, at every depth. */
  const leak = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(leak)
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
      return value
    const inner = Object.entries(value).map(([key, item]) => [
      key,
      freeForm.includes(key) ? item : leak(item),
    ])
    return { ...Object.fromEntries(inner), passwordHash: 'leaked', tokenSha256: 'leaked' }
  }
  const leaking = table.map(({ route: { run, answer, ...route } }) => ({
    ...route,
    run: async (...given: Parameters<typeof run>) => (answer ? run(...given) : leak(await run(...given))),
    answer: answer && (async (...given: Parameters<typeof answer>) => leak(await answer(...given))),
  }))
  const app = await appWith(world, leaking)
  const reads = table.filter(({ route }) => !route.writes)

  test.each(reads.map(({ name }) => name))('%s shows no column that it does not declare', async (name) => {
    const reply = await call(world, name, { caller: platforms.has(name) ? platform : caller, things }, app)
    expect(reply.status).toBe(200)
    expect(reply.text.length).toBeGreaterThan(10)
    expect(reply.text).not.toContain('leaked')
  })

  test.each(reads.filter(({ route }) => route.returns))(
    '$name answers with each field that it declares',
    async ({ name, route }) => {
      const { shape } = route.returns as z.ZodObject
      const required = Object.keys(shape).filter(
        (key) => !z.safeParse(shape[key] ?? z.never(), undefined).success,
      )
      const reply = await ask(name)
      expect(Object.keys(reply.json).filter((key) => !(key in shape))).toEqual([])
      expect(required.filter((key) => !(key in reply.json))).toEqual([])
    },
  )
})

test('health answers without a credential and with a version, outside of /api/v1', async () => {
  const reply = await world.app.inject({ url: '/health' })
  expect(reply.statusCode).toBe(200)
  expect(reply.json()).toMatchObject({ version: world.config.version })
})
