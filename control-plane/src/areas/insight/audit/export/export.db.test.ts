import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AddressInfo } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import { parseCsv } from '../../../../../test/harness/csv.ts'
import { openIn, spreadsheets } from '../../../../../test/harness/spreadsheet.ts'
import type { Person } from '../../../../../test/harness/people.ts'

const stallMs = 700
const { app, make, people, request, owner, core } = await testApp({
  kernel: (made) => ({ ...made, patience: { stallMs, wholeMs: 20_000 } }),
})
let partnerId: string
let boss: Person
let port: number
const formula = '=HYPERLINK("http://evil.example","x")'

beforeAll(async () => {
  ;({ partnerId } = await make.org())
  boss = await people.partnerAdmin(partnerId)
  await fill(2_345, 'row', {})
  await owner`
    insert into svc.audit_log (id, at, partner_id, actor_type, actor_email, action, resource_type, resource_name, result, details)
    values (gen_random_uuid(), '2024-06-01T00:00:00Z', ${partnerId}, 'user', '+49', 'site.update', 'site', ${formula}, 'success',
      ${owner.json({ note: '@SUM(1)', 'a "b", c': 'two\r\nlines' })})`
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})

const fill = (count: number, name: string, details: object) => owner`
  insert into svc.audit_log (id, at, partner_id, actor_type, action, resource_name, result, details)
  select gen_random_uuid(), timestamptz '2025-01-01' + make_interval(secs => n), ${partnerId}, 'system', 'site.update', ${name} || n, 'success',
    ${owner.json(details as never)}
  from generate_series(1, ${count}) n`

const traces = () => owner<{ result: string; details: Record<string, unknown>; actorId: string }[]>`
  select result, details, actor_id from svc.audit_log where action = 'audit.export' and partner_id = ${partnerId} order by at, id`

test('CSV has every row once, newest first, and nothing in it is a formula', async () => {
  const reply = await request('GET /audit/export', boss, { query: { to: '2025-12-31T00:00:00Z' } })
  expect(reply.status).toBe(200)
  expect(reply.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'cache-control': 'no-store',
    'svc-export-rows': '2346',
    'svc-export-truncated': 'false',
  })
  expect(reply.headers['content-disposition']).toMatch(/^attachment; filename="audit-\d{4}-\d\d-\d\d\.csv"$/)
  const text = String(reply.body)
  expect(text.startsWith('\ufeff"id","timestamp"')).toBe(true)
  const [head = [], ...rows] = parseCsv(text.slice(1))
  const column = (name: string) => rows.map((row) => row[head.indexOf(name)] ?? '')
  expect([rows.length, new Set(column('id')).size]).toEqual([2_346, 2_346])
  expect(column('timestamp')).toEqual(column('timestamp').toSorted().toReversed())
  const last = Object.fromEntries(head.map((name, at) => [name, rows.at(-1)?.[at]]))
  expect(last).toMatchObject({ resourceName: `'${formula}`, actorEmail: "'+49", category: 'organization' })
  expect(JSON.parse(last['details'] ?? '')).toEqual({ note: "'@SUM(1)", 'a "b", c': 'two\r\nlines' })
  expect(rows.flat().filter((cell) => /^\s*[=+\-@＝＋－＠]/u.test(cell))).toEqual([])
})

test.each(spreadsheets)(
  '%s finds no formula in it, and one where there is one',
  async (program) => {
    const reply = await request('GET /audit/export', boss, {
      query: { from: '2024-05-01T00:00:00Z', to: '2024-07-01T00:00:00Z' },
    })
    const { formulas, document } = await openIn(program, String(reply.body))
    expect(formulas).toEqual([])
    expect(document).toContain('HYPERLINK')
    const careless = String(reply.body).replaceAll(`"'=`, '"=')
    expect((await openIn(program, careless)).formulas).toHaveLength(1)
  },
  240_000,
)

test('JSON is as it is, by filters of a body, with the columns that were asked for', async () => {
  const body = { filters: { q: 'hyperlink', action: ['site.update'] }, columns: ['resourceName', 'details'] }
  const reply = await request('POST /audit/export', boss, { body })
  expect(reply.body).toEqual({
    rows: 1,
    truncated: false,
    data: [{ resourceName: formula, details: { note: '@SUM(1)', 'a "b", c': 'two\r\nlines' } }],
  })
  const none = await request('POST /audit/export', boss, {
    body: { ...body, dateRange: { to: '2020-01-01T00:00:00Z' } },
  })
  expect(none.body).toEqual({ rows: 0, truncated: false, data: [] })
  const short = await request('POST /audit/export', boss, { body: { ...body, includeDetails: false } })
  expect(short.body.data).toEqual([{ resourceName: formula }])
})

test('each is written down, with how much it was, before it is sent', async () => {
  const before = (await traces()).length
  await request('GET /audit/export', boss, { query: { action: 'site.update', format: 'json' } })
  const [row, ...more] = (await traces()).slice(before)
  expect(more).toEqual([])
  expect(row).toMatchObject({
    result: 'success',
    actorId: boss.userId,
    details: { format: 'json', rows: 2_346, truncated: false, filter: { action: ['site.update'] } },
  })
})

test('it takes a second factor that was checked just now, and the permission', async () => {
  const stale = await people.partnerAdmin(partnerId, { mfaAt: null })
  expect((await request('GET /audit/export', stale)).body.error.code).toBe('MFA_REQUIRED')
  const reader = await people.partnerMember(partnerId, 'all', { permissions: ['audit:read'] })
  expect((await request('POST /audit/export', reader, { body: {} })).body.error.code).toBe('FORBIDDEN')
})

/** A reader of its own pace. */
async function reader(query = ''): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(
    `GET /api/v1/audit/export?${query} HTTP/1.1\r\nhost: svc.test\r\nauthorization: Bearer ${await boss.token()}\r\n\r\n`,
  )
  return socket
}

const open = async () => {
  const [row] = await owner<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and xact_start is not null and query ilike '%batch%' and pid <> pg_backend_pid()`
  return row?.count ?? 0
}
async function until(what: () => Promise<boolean>, ms = 15_000) {
  for (const end = Date.now() + ms; !(await what()); await sleep(50))
    if (Date.now() > end) throw new Error('it did not come to that')
}

test('one who stops reading is waited for, then cut off, and the connection is free again', async () => {
  await fill(12_000, 'big', { text: 'x'.repeat(4_000) })
  const before = process.memoryUsage().rss
  const socket = await reader()
  await once(socket, 'readable')
  socket.pause()
  await until(async () => (await open()) === 1)
  // A process of this size makes one at once: the others are told to come again, and everything else goes on.
  const shed = await request('GET /audit/export', boss)
  expect([shed.status, shed.body.error.code]).toEqual([503, 'UNAVAILABLE'])
  const asked = await request('POST /audit/export', boss, { body: {} })
  expect([asked.status, asked.body.error.code]).toEqual([503, 'UNAVAILABLE'])
  expect((await request('GET /audit/logs', boss, { query: { limit: '1' } })).status).toBe(200)
  // Far less than the fifty megabytes of the rows.
  expect(process.memoryUsage().rss - before).toBeLessThan(40 * 1024 * 1024)
  await until(async () => (await open()) === 0)
  const closed = once(socket, 'close')
  let tail = ''
  socket.on('data', (bytes: Buffer) => (tail = (tail + bytes.toString('latin1')).slice(-20)))
  socket.resume()
  await closed
  expect(tail.endsWith('0\r\n\r\n')).toBe(false)
  const again = await request('GET /audit/export', boss, { query: { action: 'partner.update' } })
  expect(again.status).toBe(200)
}, 40_000)

test('one who hangs up frees it at once', async () => {
  const socket = await reader()
  await once(socket, 'readable')
  await until(async () => (await open()) === 1)
  socket.destroy()
  await until(async () => (await open()) === 0, 20_000)
  expect((await core.pools.app`select 1`).length).toBe(1)
}, 30_000)

test('one who is slow, but reads, gets all of it', async () => {
  const socket = await reader('q=row*')
  let bytes = ''
  for (const end = Date.now() + 20_000; !bytes.endsWith('0\r\n\r\n') && Date.now() < end; ) {
    const piece = socket.read(64 * 1024) ?? socket.read()
    if (piece) bytes += String(piece)
    await sleep(10)
  }
  expect(bytes.endsWith('0\r\n\r\n')).toBe(true)
  expect(bytes.match(/"row\d+"/g)).toHaveLength(2_345)
  socket.destroy()
}, 30_000)

test('rows that come meanwhile are not in it', async () => {
  const socket = await reader('q=big*&columns=resourceName')
  let text = ''
  socket.on('data', (piece: Buffer) => (text += piece.toString()))
  await once(socket, 'data')
  await owner`
    insert into svc.audit_log (id, at, partner_id, actor_type, action, resource_name, result)
    values (gen_random_uuid(), '2023-01-01', ${partnerId}, 'system', 'site.update', 'big late', 'success')`
  await until(async () => text.endsWith('0\r\n\r\n')).catch((error) => {
    throw new Error(`${error} after ${text.length}: ${text.slice(0, 900)} … ${text.slice(-300)}`)
  })
  expect(text.includes('big late')).toBe(false)
  expect(text.match(/"big\d+"/g)).toHaveLength(12_000)
  socket.destroy()
}, 30_000)
