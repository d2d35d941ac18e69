import { svc } from '@svc/proto'
import { names } from '@svc/proto/bus'
import { v7 as uuid } from 'uuid'
import { beforeEach, describe, expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Device } from '../../../../../test/harness/make.ts'
import type { Person } from '../../../../../test/harness/people.ts'
import { tellFinished } from '../../../../engines/work/hints.ts'

const t = await testApp()
const { make, people } = t

let device: Device
let admin: Person
beforeEach(async () => {
  device = await make.device()
  admin = await people.partnerAdmin(device.partnerId)
})

const send = (body: object, as: Person = admin, headers: Record<string, string> = {}, id = device.id) =>
  t.request(`POST /devices/${id}/commands`, as, { body, headers })
const get = (id: string, query: Record<string, string> = {}) =>
  t.request(`GET /devices/${device.id}/commands/${id}`, admin, { query })
const cancel = (id: string) => t.request(`POST /devices/${device.id}/commands/${id}/cancel`, admin)
const set = (id: string, status: string, more: { stdout?: Buffer; encoding?: string; size?: number } = {}) =>
  t.db.tx(
    (tx) => tx.run`
    update commands set status = ${status}, finished_at = case when ${status} in ('succeeded', 'failed') then now() end,
      started_at = now(), exit_code = 3, result = '{"collected": ["disks"]}', stdout = ${more.stdout ?? null},
      stdout_encoding = ${more.encoding ?? null}, stdout_size = ${more.size ?? more.stdout?.length ?? null},
      stdout_truncated = ${more.size !== undefined && more.size > (more.stdout?.length ?? 0)} where id = ${id}`,
  )
const count = async () =>
  (await t.db.one<{ n: number }>`select count(*)::int as n from commands where device_id = ${device.id}`)?.n

describe('sending', () => {
  test('answers 201 with what is committed: the command, one audit row, one event, and a hint to the workers', async () => {
    const hints: string[] = []
    await t.bus.subscribe(
      names.workAll(),
      (payload) => void hints.push(...svc.v1.Hint.decode(payload).owedDevices),
    )
    const { status, body } = await send({ type: 'refresh_inventory' })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.any(String),
      deviceId: device.id,
      type: 'refresh_inventory',
      status: 'queued',
      createdAt: expect.any(String),
      expiresAt: expect.any(String),
    })
    expect(Date.parse(body.expiresAt) - Date.parse(body.createdAt)).toBe(7 * 86_400_000)
    const row = await t.db.one`select status, args, issued_by, org_id from commands where id = ${body.id}`
    expect(row).toEqual({ status: 'queued', args: {}, issuedBy: `user:${admin.userId}`, orgId: device.orgId })
    const audits = await t.db
      .rows`select action, actor_id, org_id, details from audit_log where resource_id = ${device.id}`
    expect(audits).toEqual([
      {
        action: 'device.command.send',
        actorId: admin.userId,
        orgId: device.orgId,
        details: { commandId: body.id, command: 'refresh_inventory' },
      },
    ])
    expect(await t.db.rows`select type from outbox where subject_id = ${device.id}`).toEqual([
      { type: 'command.queued' },
    ])
    await expect.poll(() => hints).toContain(device.id)
  })

  test('interactive commands expire after a minute, and a caller may say when', async () => {
    const { body } = await send({ type: 'list_processes' })
    expect(Date.parse(body.expiresAt) - Date.parse(body.createdAt)).toBe(60_000)
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    expect((await send({ type: 'list_processes', expiresAt })).body.expiresAt).toBe(expiresAt)
  })

  test('the payload is checked by the type’s own schema, and defaults are filled in', async () => {
    const { body } = await send({ type: 'list_processes', payload: { search: 'ssh' } })
    expect((await get(body.id)).body.payload).toEqual({
      search: 'ssh',
      page: 1,
      limit: 50,
      sortBy: 'cpu',
      sortDesc: true,
    })
  })

  test.each([
    ['an unknown type', { type: 'format_disk' }, 'type'],
    ['no type', {}, 'type'],
    ['a payload that does not fit', { type: 'list_processes', payload: { limit: 0 } }, 'payload.limit'],
    ['a payload key that nobody knows', { type: 'refresh_inventory', payload: { now: true } }, 'payload.now'],
    ['a missing payload', { type: 'run_script' }, 'payload'],
    ['a key that nobody knows', { type: 'refresh_inventory', args: {} }, 'args'],
    ['an expiry in the past', { type: 'refresh_inventory', expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    ['an expiry that is no time', { type: 'refresh_inventory', expiresAt: 'tomorrow' }, 'expiresAt'],
  ])('%s is 400', async (_, body, field) => {
    const answer = await send(body)
    expect([answer.status, answer.body.error.code]).toEqual([400, 'VALIDATION_ERROR'])
    expect(answer.body.error.details[0].field).toBe(field)
    expect(await count()).toBe(0)
  })

  test('a second refresh_inventory is 409 with the first one’s id until that has ended, also of ten at once', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => send({ type: 'refresh_inventory' })))
    const [first, ...more] = answers.filter(({ status }) => status === 201)
    expect(more).toEqual([])
    const refused = answers.filter(({ status }) => status === 409)
    expect(refused).toHaveLength(9)
    for (const { body } of refused) {
      expect(body.error).toMatchObject({ code: 'ALREADY_PENDING', details: [{ commandId: first?.body.id }] })
    }
    await set(first?.body.id, 'running')
    expect((await send({ type: 'refresh_inventory' })).status).toBe(409)
    await set(first?.body.id, 'succeeded')
    expect((await send({ type: 'refresh_inventory' })).status).toBe(201)
  })

  test('devices:execute is needed, and for run_script scripts:execute too', async () => {
    const script = { type: 'run_script', payload: { interpreter: 'sh', content: 'id' } }
    const reader = await people.orgViewer(device)
    const operator = await people.orgMember(device, { permissions: ['devices:execute'] })
    const author = await people.orgMember(device, { permissions: ['devices:execute', 'scripts:execute'] })
    const scriptsOnly = await people.orgMember(device, { permissions: ['scripts:execute'] })
    const outcome = async (as: Person, body: object) => {
      const { status, body: answer } = await send(body, as)
      return status === 201 ? 201 : [status, answer.error.code]
    }
    expect(await outcome(reader, { type: 'list_processes' })).toEqual([403, 'FORBIDDEN'])
    expect(await outcome(operator, { type: 'list_processes' })).toBe(201)
    expect(await outcome(operator, script)).toEqual([403, 'FORBIDDEN'])
    expect(await outcome(scriptsOnly, script)).toEqual([403, 'FORBIDDEN'])
    expect(await outcome(author, script)).toBe(201)
    // A foreign device stays a 404, whatever permission is missing.
    expect((await send(script, operator, {}, (await make.device()).id)).status).toBe(404)
  })

  test('a decommissioned device takes no command: 409', async () => {
    const gone = await make.device(device, { lifecycle: 'decommissioned' })
    const { status, body } = await send({ type: 'list_processes' }, admin, {}, gone.id)
    expect([status, body.error.code]).toEqual([409, 'CONFLICT'])
    expect(body.error.details).toEqual([{ from: 'decommissioned', to: 'queued' }])
  })

  test('no command is left pending when sending and decommissioning race', async () => {
    for (let round = 0; round < 5; round++) {
      const raced = await make.device(device)
      await Promise.all([
        ...Array.from({ length: 3 }, () => send({ type: 'list_processes' }, admin, {}, raced.id)),
        t.request(`DELETE /devices/${raced.id}`, admin),
      ])
      expect(
        await t.db.rows`select from commands where device_id = ${raced.id} and status = 'queued'`,
      ).toEqual([])
    }
  })

  test('the same Idempotency-Key sends once and answers the same; another body under it is 422', async () => {
    const key = { 'idempotency-key': uuid() }
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => send({ type: 'list_processes' }, admin, key)),
    )
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(await count()).toBe(1)
    const other = await send({ type: 'refresh_inventory' }, admin, key)
    expect([other.status, other.body.error.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH'])
    expect((await t.db.rows`select from audit_log where resource_id = ${device.id}`).length).toBe(1)
  })
})

describe('reading', () => {
  test('the list is newest first, in pages, without output', async () => {
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.unshift((await send({ type: 'list_processes' })).body.id)
    await set(ids[0] ?? '', 'succeeded', { stdout: Buffer.from('secret') })
    const page = (query: Record<string, string>) =>
      t.request(`GET /devices/${device.id}/commands`, admin, { query })
    const first = (await page({ limit: '3' })).body
    expect(first.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 3))
    expect(first.pagination).toEqual({ hasMore: true, cursor: expect.any(String) })
    const second = (await page({ limit: '3', cursor: first.pagination.cursor })).body
    expect(second.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(3))
    expect(second.pagination).toEqual({ hasMore: false, cursor: null })
    expect(first.data[0]).toEqual({
      id: ids[0],
      deviceId: device.id,
      type: 'list_processes',
      status: 'succeeded',
      payload: expect.any(Object),
      issuedBy: `user:${admin.userId}`,
      createdAt: expect.any(String),
      notBefore: expect.any(String),
      expiresAt: expect.any(String),
      cancelRequestedAt: null,
      deliveredAt: null,
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
      exitCode: 3,
      error: null,
      attempt: 0,
    })
  })

  test('a finished command shows its result and its output as it is', async () => {
    const { id } = (await send({ type: 'refresh_inventory' })).body
    expect((await get(id)).body).toMatchObject({ status: 'queued', stdout: null, stderr: null, result: null })
    const stdout = Buffer.from([0x6f, 0x6b, 0xff])
    await set(id, 'succeeded', { stdout, encoding: 'utf-8', size: 2_000_000 })
    const { body } = await get(id)
    expect(body).toMatchObject({
      status: 'succeeded',
      exitCode: 3,
      result: { collected: ['disks'] },
      stderr: null,
    })
    expect(body.stdout).toEqual({
      text: 'ok\ufffd',
      encoding: 'utf-8',
      size: 2_000_000,
      truncated: true,
      lossy: true,
      base64: stdout.toString('base64'),
    })
  })

  test('a command of another device of the same tenant is 404 here', async () => {
    const other = await make.device(device)
    const { id } = (await send({ type: 'list_processes' }, admin, {}, other.id)).body
    expect((await get(id)).status).toBe(404)
    expect((await cancel(id)).status).toBe(404)
  })

  test.each(['30001', '-1', '1.5', 'x', '100000'])('waitMs=%s is 400', async (waitMs) => {
    const { id } = (await send({ type: 'list_processes' })).body
    expect((await get(id, { waitMs })).status).toBe(400)
  })
})

describe('waiting', () => {
  test('ends with the command, woken by the hint long before the time is up', async () => {
    const { id } = (await send({ type: 'list_processes' })).body
    const began = performance.now()
    const waiting = get(id, { waitMs: '20000' })
    await new Promise((resolve) => setTimeout(resolve, 200))
    await set(id, 'succeeded')
    await tellFinished(t.bus, [id])
    const { status, body } = await waiting
    expect([status, body.status]).toEqual([200, 'succeeded'])
    expect(performance.now() - began).toBeLessThan(15_000)
  })

  test('ends with the command when no hint comes at all', async () => {
    const { id } = (await send({ type: 'list_processes' })).body
    const waiting = get(id, { waitMs: '20000' })
    setTimeout(() => void set(id, 'failed'), 100)
    expect((await waiting).body.status).toBe('failed')
  })

  test.each([
    ['is disabled', (id: string) => t.owner`update users set status = 'disabled' where id = ${id}`, 401],
    ['loses the right', (id: string) => t.owner`delete from partner_memberships where user_id = ${id}`, 403],
  ])('ends for a caller who %s meanwhile, within the time of any revocation', async (_, revoke, refusal) => {
    const caller = await people.partnerMember(device.partnerId, 'all')
    const { id } = (await send({ type: 'list_processes' })).body
    const path = `GET /devices/${device.id}/commands/${id}` as const
    const waiting = t.request(path, caller, { query: { waitMs: '20000' } })
    await new Promise((resolve) => setTimeout(resolve, 200))
    await revoke(caller.userId) // and no message says so
    const began = performance.now()
    expect((await waiting).status).toBe(refusal)
    expect(performance.now() - began).toBeLessThan(15_000)
  })

  test('answers with what there is when the time is up, and holds no connection meanwhile', async () => {
    const { id } = (await send({ type: 'list_processes' })).body
    const began = performance.now()
    let answered = 0
    const waiters = Array.from({ length: 30 }, async () => {
      const { body } = await get(id, { waitMs: '2500' }) // far more than there are connections
      answered++
      return body.status
    })
    expect((await t.request(`GET /devices/${device.id}`, admin)).status).toBe(200)
    expect(answered).toBe(0)
    expect(new Set(await Promise.all(waiters))).toEqual(new Set(['queued']))
    expect(performance.now() - began).toBeGreaterThan(2_400)
  })

  /** How many of the API's connections want to read commands within a second: they are held up, and counted. */
  const readers = () =>
    t.owner.begin(async (tx) => {
      await tx`lock table svc.commands in access exclusive mode`
      await new Promise((resolve) => setTimeout(resolve, 1_000)) // twice as long as between two looks
      const [row] = await tx<{ n: number }[]>`select count(*)::int as n from pg_stat_activity
        where datname = current_database() and application_name = 'svc-api' and wait_event_type = 'Lock'`
      return row?.n
    })

  test('is over when the client hangs up', async () => {
    await t.app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = t.app.server.address() as { port: number }
    const { id } = (await send({ type: 'list_processes' })).body
    const hangUp = new AbortController()
    const asked = fetch(`http://127.0.0.1:${port}/api/v1/devices/${device.id}/commands/${id}?waitMs=30000`, {
      headers: { authorization: `Bearer ${await admin.token()}` },
      signal: hangUp.signal,
    })
    asked.catch(() => undefined)
    await expect.poll(readers).toBe(1)
    hangUp.abort()
    await expect(asked).rejects.toThrow()
    await expect.poll(readers).toBe(0)
  }, 60_000)
})

describe('cancelling', () => {
  test('a queued command ends at once, and only once', async () => {
    const { id } = (await send({ type: 'list_processes' })).body
    const { status, body } = await cancel(id)
    expect([status, body.status]).toEqual([200, 'cancelled'])
    expect(body).not.toHaveProperty('stdout')
    const again = await cancel(id)
    expect([again.status, again.body.error.details]).toEqual([409, [{ from: 'cancelled', to: 'cancelled' }]])
    const audits = await t.db
      .rows`select details from audit_log where action = 'device.command.cancel' and resource_id = ${device.id}`
    expect(audits).toEqual([{ details: { commandId: id, command: 'list_processes' } }])
  })

  test('a running command is asked to stop and stays as it is until the device says more', async () => {
    const { id } = (await send({ type: 'list_processes' })).body
    await set(id, 'running')
    const { body } = await cancel(id)
    expect(body).toMatchObject({ status: 'running', cancelRequestedAt: expect.any(String), finishedAt: null })
    expect((await cancel(id)).status).toBe(200)
  })

  test('needs devices:execute', async () => {
    const { id } = (await send({ type: 'list_processes' })).body
    const viewer = await people.orgViewer(device)
    expect((await t.request(`POST /devices/${device.id}/commands/${id}/cancel`, viewer)).status).toBe(403)
  })
})
