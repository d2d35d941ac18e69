import { describe, expect, test } from 'vitest'
import { anyId, thingRoutes, thingsApp } from '../../test/harness/things.ts'

const t = await thingsApp()
const { request, people, make } = t
const partnerId = await make.partner()
const admin = await people.partnerAdmin(partnerId)
const orgId = (await make.org(partnerId)).orgId

describe('what is asked', () => {
  test('names each unknown key of body and query', async () => {
    const wrong = await request('POST /things', admin, {
      body: { name: 'x', partnerId: anyId, nested: { x: 1, y: 2 }, isSystem: true },
    })
    expect(wrong.status).toBe(400)
    expect(wrong.body.error).toMatchObject({ code: 'VALIDATION_ERROR' })
    const flaws = wrong.body.error.details
    expect(flaws).toContainEqual({ in: 'body', field: 'partnerId', message: 'is not known' })
    expect(flaws).toContainEqual({ in: 'body', field: 'isSystem', message: 'is not known' })
    expect(flaws).toContainEqual({ in: 'body', field: 'nested.y', message: 'is not known' })
    expect((await request('GET /things?admin=1', admin)).body.error.details).toEqual([
      { in: 'query', field: 'admin', message: 'is not known' },
    ])
    expect((await request(`GET /things/${orgId}?x=1`, admin)).status).toBe(400)
    expect((await request('POST /things/secret', admin, { body: { x: 1 } })).status).toBe(400)
  })

  test.each(['x', '1', `${anyId}x`, '%00', "'", 'null'])('an id that is %j is malformed: 400', async (id) => {
    const { status, body } = await request(`GET /things/${id}`, admin)
    expect([status, body.error.details[0].field]).toEqual([400, 'id'])
  })

  test('says what is missing', async () => {
    const missing = await request('POST /things', admin, { body: {} })
    expect(missing.body.error.details).toEqual([{ in: 'body', field: 'name', message: 'is missing' }])
    expect((await request('POST /things', admin)).body.error.details).toEqual([
      { in: 'body', field: 'body', message: 'is missing' },
    ])
  })

  test.each<[string, number, string, string, string]>([
    ['is no JSON', 400, 'BAD_REQUEST', 'application/json', '{"name":'],
    ['reaches into prototypes', 400, 'BAD_REQUEST', 'application/json', '{"__proto__":{}}'],
    ['is a form', 415, 'UNSUPPORTED_MEDIA_TYPE', 'application/x-www-form-urlencoded', 'name=x'],
    ['is plain text', 415, 'UNSUPPORTED_MEDIA_TYPE', 'text/plain', '{"name":"x"}'],
    [
      'is larger than 1 MiB',
      413,
      'PAYLOAD_TOO_LARGE',
      'application/json',
      `{"name":"${'x'.repeat(1024 * 1024)}"}`,
    ],
    ['is nested too deep', 413, 'PAYLOAD_TOO_LARGE', 'application/json', '['.repeat(40) + ']'.repeat(40)],
  ])('a body that %s: %i %s', async (_what, status, code, type, text) => {
    const headers = { authorization: `Bearer ${await admin.token()}`, 'content-type': type }
    const answer = await t.app.inject({ method: 'POST', url: '/api/v1/things', headers, payload: text })
    const { error } = answer.json()
    expect([answer.statusCode, error.code]).toEqual([status, code])
    if (status === 415) expect(error.message).toBe('send application/json')
  })

  test('a path that is none is 404, another method 405 with what is allowed, both before a body is read', async () => {
    const headers = { 'content-type': 'application/json' }
    const send = (method: 'POST' | 'PUT' | 'OPTIONS', url: string) =>
      t.app.inject({ method, url, headers, payload: '{' })
    expect((await send('POST', '/api/v1/nothing')).json().error.code).toBe('NOT_FOUND')
    expect((await send('POST', '/nothing')).statusCode).toBe(404)
    for (const method of ['PUT', 'OPTIONS'] as const) {
      const other = await send(method, '/api/v1/things')
      expect([other.statusCode, other.json().error.code, other.headers['allow']]).toEqual([
        405,
        'METHOD_NOT_ALLOWED',
        'GET, HEAD, POST',
      ])
    }
    const head = await t.app.inject({
      method: 'HEAD',
      url: '/api/v1/exempt',
      headers: { authorization: `Bearer ${await admin.token()}` },
    })
    expect([head.statusCode, head.body]).toEqual([200, ''])
  })

  test.each([
    '/api/v1//things',
    '/api/v1/things/',
    '/api/v1/THINGS',
    '/api/v1/%74hings%2f',
    '/api/v1/things;x=1',
    '/api/v1/./things',
    '/api/v1/things%00',
  ])('a variant of a path is never more than the path: %s', async (url) => {
    expect([401, 404, 400]).toContain((await t.app.inject({ method: 'GET', url })).statusCode)
  })
})

describe('a read', () => {
  test('answers what is declared, to its own tenant alone', async () => {
    expect((await request(`GET /things/${orgId}`, admin)).body).toEqual({
      id: orgId,
      name: expect.any(String),
      createdAt: expect.any(String),
    })
    const stranger = await people.partnerAdmin(await make.partner())
    const [foreign, absent] = [
      await request(`GET /things/${orgId}`, stranger),
      await request(`GET /things/${anyId}`, stranger),
    ]
    expect(foreign.status).toBe(404)
    expect(foreign.body).toEqual(absent.body)
    expect(JSON.stringify((await request('GET /things', admin)).body)).not.toContain('hidden')
  })

  test('that forgets its scope sees nothing', async () => {
    expect((await request('GET /public/nothing')).body).toEqual({ seen: 0, who: 'nobody' })
    expect((await request('GET /public/nothing', admin)).body).toMatchObject({ who: 'user' })
  })

  test('cannot emit', async () => {
    expect((await request('GET /public/misuse')).status).toBe(500)
  })

  test('carries headers that keep it from caches, frames and sniffers, and an id that no client chose', async () => {
    const { headers } = await request('GET /exempt', admin, { headers: { 'x-request-id': 'mine' } })
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none';frame-ancestors 'none'",
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'origin-agent-cluster': '?1',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
      'x-permitted-cross-domain-policies': 'none',
      'content-type': 'application/json; charset=utf-8',
    })
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('a list', () => {
  test('shows each row once, newest first, also where many are of one instant', async () => {
    const own = await make.partner()
    const reader = await people.partnerAdmin(own)
    for (let n = 0; n < 7; n++) await make.org(own)
    // Microseconds apart, which a Date cannot tell: a rounded cursor would skip or repeat.
    await t.owner`update organizations o set created_at = '2026-01-01 00:00:00.123400+00'::timestamptz + n.n * interval '1 microsecond'
      from (select id, row_number() over (order by id) as n from organizations where partner_id = ${own}) n where n.id = o.id`
    const seen: string[] = []
    let cursor: string | null = null
    let pages = 0
    do {
      const { body } = await request('GET /things', reader, {
        query: { limit: '2', ...(cursor && { cursor }) },
      })
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      expect(body.pagination.hasMore).toBe(body.pagination.cursor !== null)
      cursor = body.pagination.cursor
      pages++
    } while (cursor)
    const all =
      await t.owner`select id from organizations where partner_id = ${own} order by created_at desc, id desc`
    expect(seen).toEqual(all.map(({ id }) => id))
    expect(pages).toBe(4)
  })

  test.each(['0', '501', '-1', 'x', '1.5'])('of %s rows is refused', async (limit) => {
    expect((await request('GET /things', admin, { query: { limit } })).status).toBe(400)
  })

  test('does not take another list’s cursor, nor one that was changed', async () => {
    const own = await make.partner()
    const reader = await people.partnerAdmin(own)
    await make.org(own)
    await make.org(own)
    const { cursor } = (await request('GET /things', reader, { query: { limit: '1' } })).body.pagination
    expect((await request('GET /things', reader, { query: { cursor } })).status).toBe(200)
    const order = { route: 'GET /others', sort: 'createdAt', direction: 'desc' } as const
    const foreign = t.core.ports.cursors.write({ ...order, asked: '', keys: ['a', 'b'] })
    for (const bad of [foreign, `x${cursor}`, 'x', '']) {
      const { status, body } = await request('GET /things', reader, { query: { cursor: bad } })
      expect([status, body.error.details[0].field]).toEqual([400, 'cursor'])
    }
  })

  test('takes nobody else’s cursor', async () => {
    const other = await people.partnerAdmin(await make.partner())
    const { cursor } = (await request('GET /things', admin, { query: { limit: '1' } })).body.pagination
    const { status, body } = await request('GET /things', other, { query: { cursor } })
    expect([status, body.error.details[0].field]).toEqual([400, 'cursor'])
  })
})

test('health tells the version to anyone, and readiness which parts are well', async () => {
  expect((await t.app.inject('/health')).json()).toEqual({ status: 'ok', version: t.config.version })
  const ready = await t.app.inject('/health/ready')
  expect([ready.statusCode, ready.json()]).toEqual([
    200,
    { status: 'ready', failing: [], parts: { postgres: 'ok', migrations: 'ok', bus: 'ok' } },
  ])
})

test('the document describes each endpoint of the table', async () => {
  const { paths, components } = (await t.app.inject('/api/v1/openapi.json')).json()
  const described = Object.entries<object>(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(described.sort()).toEqual(
    thingRoutes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`).sort(),
  )
  expect(components.schemas.TestThing.properties.createdAt).toEqual({ type: 'string', format: 'date-time' })
})
