import { createHash } from 'node:crypto'
import { svc, verifyCommand } from '@svc/proto'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { eventually, makeDevices, openPipeline } from '../../../test/harness/pipeline.ts'
import {
  bytesOf,
  idsIn,
  inventory,
  online,
  processes,
  report,
  result,
  script,
  workOn,
} from '../../../test/harness/work.ts'
import { workerDb } from '../../kernel/db.ts'
import { newestFirst } from '../../kernel/page.ts'
import { cancel, withdrawAll } from './cancel.ts'
import { claim } from './claim.ts'
import { findCommand, listCommands } from './find.ts'
import { offerOwed } from './offer.ts'
import { send, sendMany } from './send.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db, deps } = on
const { clear, queue, statusOf, apply, takeFrames, offered } = await workOn(on)

beforeEach(clear)

test('a sent command is queued, with its event', async () => {
  const [id = ''] = await makeDevices(on, 1)
  const sent = await db.tx((tx) => send(tx, { deviceId: id, ...processes }))
  expect(sent).toMatchObject({
    deviceId: id,
    status: 'queued',
    lane: 'interactive',
    attempt: 0,
    issuedBy: 'user:1',
  })
  expect(sent?.args).toEqual({ page: 1, limit: 50, sortBy: 'cpu', sortDesc: true })
  expect((sent?.expiresAt.getTime() ?? 0) - (sent?.createdAt.getTime() ?? 0)).toBe(60_000)
  expect(await sql`select type, subject_id from outbox`).toEqual([{ type: 'command.queued', subjectId: id }])
})

test('arguments that do not fit, or that Postgres could not keep, are refused field by field', async () => {
  const [id = ''] = await makeDevices(on, 1)
  const refused = (args: unknown) => expect(queue(id, { ...script, args })).rejects
  await refused({ interpreter: 'sh' }).toMatchObject({
    code: 'VALIDATION_ERROR',
    details: [{ field: 'payload.content' }],
  })
  await refused({ interpreter: 'sh', content: 'a\0' }).toMatchObject({ code: 'VALIDATION_ERROR' })
  await refused({ interpreter: 'sh', content: '\u{dc00}' }).toMatchObject({ code: 'VALIDATION_ERROR' })
  await expect(queue(id, { ...script, expiresAt: new Date(0) })).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
  })
})

test('a second inventory is refused while one is pending, and names it', async () => {
  const [id = ''] = await makeDevices(on, 1)
  const first = await queue(id, inventory)
  await expect(queue(id, inventory)).rejects.toMatchObject({
    code: 'ALREADY_PENDING',
    details: [{ commandId: first }],
  })
  await apply(report(id, first, result()))
  await expect(queue(id, inventory)).resolves.not.toBe(first)
})

test('of twenty parallel inventories one is accepted', async () => {
  const [id = ''] = await makeDevices(on, 1)
  const all = await Promise.allSettled(Array.from({ length: 20 }, () => queue(id, inventory)))
  expect(all.filter((one) => one.status === 'fulfilled')).toHaveLength(1)
  expect(await sql`select count(*)::int as n from commands`).toEqual([{ n: 1 }])
})

test('many devices are answered for one by one', async () => {
  const [free = '', busy = ''] = await makeDevices(on, 2)
  const [retired = ''] = await makeDevices(on, 1, { lifecycle: 'decommissioned' })
  const pending = await queue(busy, inventory)
  const missing = '00000000-0000-7000-8000-000000000000'
  const sent = await db.tx((tx) => sendMany(tx, [free, busy, retired, missing, free], inventory))
  expect(sent.commands.map((command) => command.deviceId)).toEqual([free])
  expect(sent).toMatchObject({
    pending: [{ deviceId: busy, commandId: pending }],
    missing: [missing],
    decommissioned: [retired],
  })
})

test('another tenant can neither send, find, list nor cancel', async () => {
  const [id = ''] = await makeDevices(on, 1)
  const command = await queue(id)
  const stranger = workerDb(sql, { kind: 'tenant', partnerId: id, orgs: 'all' })
  expect(await stranger.tx((tx) => send(tx, { deviceId: id, ...script }))).toBeUndefined()
  expect(await findCommand(stranger, id, command)).toBeUndefined()
  expect(await listCommands(stranger, id, newestFirst(stranger.sql, 'created_at', 10, undefined))).toEqual([])
  expect(await stranger.tx((tx) => cancel(tx, id, command))).toBeUndefined()
  expect(await stranger.tx((tx) => withdrawAll(tx, [id], 'the device was decommissioned'))).toEqual([])
  expect(await statusOf(command)).toBe('queued')
})

test('what goes out is signed for the device, the same at each attempt', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const command = await queue(id)
  const [frame] = await offered(id)
  const { keyId, attempt } = frame?.command ?? {}
  const [body, signature] = [bytesOf(frame?.command?.body), bytesOf(frame?.command?.signature)]
  expect(verifyCommand(body, signature, on.publicKey)).toBe(true)
  expect([keyId, attempt]).toEqual(['test', 1])
  const read = svc.v1.CommandBody.decode(body)
  expect(read).toMatchObject({
    commandId: command,
    deviceId: id,
    orgId: on.orgId,
    type: 'run_script',
    timeoutMs: 300_000,
  })
  expect(read).toMatchObject({ issuedBy: 'user:1', lane: 'work' })
  expect(Buffer.from(read.argsSha256)).toEqual(createHash('sha256').update(read.args).digest())
  expect(JSON.parse(Buffer.from(read.args).toString())).toMatchObject({ interpreter: 'sh', content: 'true' })
  await sql`update commands set lease_until = now() - interval '1 s'`
  const [again] = await offered(id)
  expect(again?.command?.attempt).toBe(2)
  expect(Buffer.from(bytesOf(again?.command?.body))).toEqual(Buffer.from(body))
})

test('nothing is offered twice while its lease lasts, but at once on a new connection', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const command = await queue(id)
  expect(idsIn(await offered(id))).toEqual([command])
  expect(await offered(id)).toEqual([])
  await sql`update device_presence set epoch = 11`
  expect(idsIn(await offered(id))).toEqual([command])
})

test('twenty offers at once send each command once and keep the bounds', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  for (let i = 0; i < 6; i++) await queue(id)
  for (let i = 0; i < 6; i++) await queue(id, processes)
  await Promise.all(Array.from({ length: 20 }, () => offerOwed(db, deps.ports, [id])))
  const ids = idsIn(await takeFrames())
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toHaveLength(2 + 4)
})

test('a claim waits for the one before it and finds its lanes full', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  for (let i = 0; i < 3; i++) await queue(id)
  let second: Promise<unknown[]> | undefined
  const first = await db.tx(async (tx) => {
    const claimed = await claim(tx, [id], 30_000)
    second = db.tx((other) => claim(other, [id], 30_000))
    const waiting = () =>
      sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and application_name = 'test-worker'`
    await eventually(async () => (await waiting()).length > 0, 'the second claim waiting')
    return claimed
  })
  expect(first).toHaveLength(2)
  expect(await second).toEqual([])
})

test('a stuck command holds up neither another lane nor the rest of its own beyond its place', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const stuck = await queue(id)
  await offered(id)
  await apply(report(id, stuck, { kind: 'acked' }), report(id, stuck, { kind: 'started' }))
  const [second, third, quick] = [await queue(id), await queue(id), await queue(id, processes)]
  expect(idsIn(await offered(id))).toEqual([second, quick])
  await apply(report(id, second, result()))
  expect(idsIn(await offered(id))).toEqual([third])
})

test.each([
  ['no connection', { connectivity: 'online', epoch: 10 }],
  ['a node that is dead', { ...online, node: 'dead' }],
  ['quarantine', { ...online, lifecycle: 'quarantined' }],
] as const)('a device with %s is offered nothing, and no attempt is counted', async (_, facts) => {
  const [id = ''] = await makeDevices(on, 1, facts)
  await queue(id)
  expect(await offered(id)).toEqual([])
  expect(await sql`select attempt, lease_until from commands`).toEqual([{ attempt: 0, leaseUntil: null }])
})

test.each([
  ['suspended organization', 'organizations', 'suspended', 'active'],
  ['suspended partner', 'partners', 'suspended', 'active'],
  ['churned organization', 'organizations', 'churned', 'trial'],
])('devices of a %s are offered nothing, though connected, until it goes on', async (_, table, out, back) => {
  const [id = ''] = await makeDevices(on, 1, online)
  const set = (status: string) => sql`update ${sql(table)} set status = ${status}`
  const [running, waiting] = [await queue(id), await queue(id)]
  await offered(id)
  await apply(report(id, running, { kind: 'acked' }))
  await db.tx((tx) => cancel(tx, id, running))
  await sql`update commands set lease_until = null`
  try {
    await set(out)
    expect(await offered(id)).toEqual([])
  } finally {
    await set(back)
  }
  const frames = await offered(id)
  expect(frames.map(({ command, commandCancel }) => commandCancel?.commandId ?? Boolean(command))).toEqual([
    running,
    true,
  ])
  expect(idsIn(frames.slice(1))).toEqual([waiting])
  await sql`update ${sql(table)} set status = 'active'`
})

test('a command is offered neither before its time nor after it expired', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  await queue(id, { ...script, notBefore: new Date(Date.now() + 60_000) })
  const late = await queue(id)
  await sql`update commands set expires_at = now() - interval '1 s' where id = ${late}`
  expect(await offered(id)).toEqual([])
})
