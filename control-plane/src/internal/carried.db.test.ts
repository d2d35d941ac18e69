import { randomBytes } from 'node:crypto'
import { svc } from '@svc/proto'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeEach, expect, test } from 'vitest'
import {
  edgeMessages,
  entry,
  framesIn,
  item,
  makeDevices,
  makeNode,
  openPipeline,
  own,
} from '../../test/harness/pipeline.ts'
import { sweepDevices } from '../engines/status/sweep.ts'
import type { Outlet } from '../engines/work/deliver.ts'
import { offerOwed } from '../engines/work/offer.ts'
import { send } from '../engines/work/send.ts'
import { handleEntries } from '../inbox/inbox.ts'
import { internalApp } from './app.ts'

const on = await openPipeline()
const { sql, db, pool, deps } = on
const edge = await edgeMessages(on.bus, 'n1')
afterAll(() => on.close())

const away: Outlet = { up: false, publish: async () => 0 }
let registry: Registry
beforeEach(async () => {
  await sql`truncate devices, device_presence, gateway_nodes, edge_watermarks, outbox, commands, device_inventory cascade`
  await Promise.all([makeNode(on, 'n1'), makeNode(on, 'n2')])
  edge.length = 0
  registry = new Registry()
})

const post = (request: svc.v1.IExchangeRequest, bus: Outlet = on.bus) => {
  const ports = { ...deps.ports, bus }
  const logger = pino({ enabled: false })
  const edgeSharedKey = 'a shared key of more than thirty-two characters'
  const app = internalApp({ pool, ports, edgeSharedKey, heartbeatIntervalMs: 60_000, registry, logger })
  registry = new Registry() // one app each
  return app.inject({
    method: 'POST',
    url: '/internal/edge/exchange',
    payload: Buffer.from(svc.v1.ExchangeRequest.encode({ node: 'n1', version: '1', ...request }).finish()),
    headers: { authorization: `Bearer ${edgeSharedKey}`, 'content-type': 'application/x-protobuf' },
  })
}
const exchange = async (request: svc.v1.IExchangeRequest, bus?: Outlet) => {
  const { statusCode, rawPayload } = await post(request, bus)
  expect(statusCode).toBe(200)
  const answer: svc.v1.ExchangeAnswer = svc.v1.ExchangeAnswer.decode(rawPayload)
  const messages = answer.messages.map((bytes) => svc.v1.EdgeMessage.decode(bytes))
  const { upAccepted, profiles, serverTimeMs, revocationsCursorMs } = answer
  return {
    upAccepted,
    profiles,
    serverTimeMs,
    revocationsCursorMs,
    messages,
    frames: framesIn(messages),
  }
}
const load = (items: svc.v1.IUpItem[], { shard = 0, node = 'n1', throughMs = 0 } = {}) => ({
  shard,
  batch: entry(node, items, throughMs).payload,
})
const carry = (...items: svc.v1.IUpItem[]) => exchange({ up: [load(items)], upAlone: true })
const one = async (facts: Parameters<typeof makeDevices>[2] = {}) =>
  (await makeDevices(on, 1, facts))[0] ?? ''
const command = async (deviceId: string) => {
  const script = { type: 'run_script', args: { interpreter: 'sh', content: 'true' }, issuedBy: 'system' }
  const sent = await db.tx((tx) => send(tx, { deviceId, ...script } as Parameters<typeof send>[1]))
  return sent?.id ?? ''
}
const look = async (id: string) => {
  const [row] = await sql`
    select d.status, p.epoch, p.node, p.last_seen_at, p.cpu_percent
    from devices d join device_presence p on p.device_id = d.id where d.id = ${id}`
  return row ?? {}
}
const at = (made: svc.v1.IUpItem, receivedAtMs: number) => ({ ...made, receivedAtMs })

test('what is carried up is accepted once it is committed, of all shards together, and counted', async () => {
  const [a = '', b = ''] = await makeDevices(on, 2, { shards: [0, 5] })
  const through = Date.now() - 1000
  const answer = await exchange({
    up: [
      load([item.connect(a, 7)], { throughMs: through }),
      load([item.beat(b, 8)], { shard: 5, throughMs: through }),
      load([], { shard: 6, throughMs: through }),
      load([item.beat(a, 7)]),
    ],
  })
  expect(answer.upAccepted).toBe(true)
  expect([await look(a), await look(b)]).toMatchObject([
    { status: 'online', node: 'n1', epoch: 7 },
    { status: 'online', epoch: 8 },
  ])
  const marks = await sql`select shard, through from edge_watermarks where node = 'n1' order by shard`
  expect(marks).toEqual([0, 5, 6].map((shard) => ({ shard, through: new Date(through) })))
})

test('nothing that was carried means nothing accepted', async () => {
  expect((await exchange({})).upAccepted).toBe(false)
})

test('one that carries alone renews no lease and is told nothing else', async () => {
  await sql`update gateway_nodes set version = 'before'`
  const answer = await exchange({ up: [load([])], upAlone: true, admissions: [{ deviceId: 'x' }] })
  expect(answer).toMatchObject({ upAccepted: true, profiles: [], serverTimeMs: 0, revocationsCursorMs: 0 })
  expect(await sql`select distinct version from gateway_nodes`).toEqual([{ version: 'before' }])
})

test('what cannot be committed is 503, and carried again it is taken', async () => {
  const [a, b] = [await one(), await one()]
  const up = [load([item.beat(a, 7)]), load([item.beat(b, 7)])]
  await sql`revoke update on devices from svc_worker`
  try {
    expect((await post({ up })).statusCode).toBe(503)
  } finally {
    await sql`grant update on devices to svc_worker`
  }
  expect(await look(a)).toMatchObject({ status: 'offline', epoch: 0 })
  expect((await exchange({ up })).upAccepted).toBe(true)
  expect([await look(a), await look(b)]).toMatchObject([{ status: 'online' }, { status: 'online' }])
})

test('poison is left out and counted; the rest is accepted', async () => {
  const [a, b] = [await one(), await one()]
  await sql`alter table devices add constraint planted check (agent_version <> 'poison')`
  const counted = registry
  try {
    const answer = await exchange({
      up: [
        { shard: 0, batch: Uint8Array.of(255, 255) },
        load([item.beat(a, 7)], { shard: 99 }),
        load([item.beat(a, 7), item.beat('nobody', 7)]),
        load([item.beat(b, 7, { agentVersion: 'poison' })]),
      ],
    })
    expect(answer.upAccepted).toBe(true)
  } finally {
    await sql`alter table devices drop constraint planted`
  }
  expect([await look(a), await look(b)]).toMatchObject([{ status: 'online' }, { status: 'offline' }])
  const metrics = await counted.metrics()
  for (const reason of ['undecodable', 'wrong_shard', 'malformed', 'rejected'])
    expect(metrics).toContain(`svc_inbox_poison_total{reason="${reason}"} 1`)
  expect(metrics).toContain('svc_internal_carried_batches_total 4')
})

test('what the streams’ reader would publish for that gateway comes with the answer, in order, and nowhere else', async () => {
  const [id, moved] = [await one(), await one({ epoch: 9, node: 'n2' })]
  const first = await command(id)
  const connected = await carry(item.connect(id, 7), item.beat(moved, 8))
  expect(connected.messages[0]?.disconnect).toMatchObject({
    deviceId: moved,
    belowEpoch: 9,
    reason: svc.v1.CloseReason.SUPERSEDED,
  })
  expect(connected.frames.map((frame) => frame.command?.attempt)).toEqual([1])
  const hash = randomBytes(32)
  const answered = await carry(
    item.result(id, 7, first),
    item.inventory(id, 7, { os: { hostname: 'h' }, hash, collectedAtMs: 1 }),
  )
  expect(answered.frames.map((frame) => frame.resultAck?.commandId ?? frame.inventoryAck?.kind)).toEqual([
    first,
    'os',
  ])
  expect(edge).toEqual([])
})

test('a gateway that hears nothing is told what its own devices are owed, and nobody else’s', async () => {
  const [mine, others] = [
    await one({ epoch: 7, node: 'n1', connectivity: 'online' }),
    await one({ epoch: 7, node: 'n2', connectivity: 'online' }),
  ]
  const [own, foreign] = [await command(mine), await command(others)]
  const leased = async () =>
    (await sql<{ id: string }[]>`select id from commands where lease_until > now()`).map(({ id }) => id)
  expect((await exchange({})).frames).toEqual([])
  expect((await exchange({ busAway: true, upAlone: true, up: [load([])] })).frames).toEqual([])
  const first = await exchange({ busAway: true }, away)
  expect(first.messages.map((message) => message.deliver?.deviceId)).toEqual([mine])
  expect(first.frames.map((frame) => frame.command?.attempt)).toEqual([1])
  expect(await leased()).toEqual([own])
  expect((await exchange({ busAway: true }, away)).frames).toEqual([])
  expect((await exchange({ node: 'n2' }, away)).frames).toHaveLength(1) // it is the control plane that cannot publish
  expect((await leased()).toSorted()).toEqual([own, foreign].toSorted())
})

test('a gateway that may have missed what was published is offered it again at once, but for what its devices have acknowledged', async () => {
  const [mine, others] = [
    await one({ epoch: 7, node: 'n1', connectivity: 'online' }),
    await one({ epoch: 7, node: 'n2', connectivity: 'online' }),
  ]
  const [known, missed] = [await command(mine), await command(mine)]
  await command(others)
  expect(await offerOwed(db, deps.ports, [mine, others])).toBe(2)
  await sql`update commands set status = 'delivered', lease_until = null, deadline_at = now() + interval '1 hour'
    where id = ${known}`
  expect((await exchange({ busAway: true })).frames).toEqual([])
  const again = await exchange({ busGap: true })
  expect(again.frames.map(({ command: said }) => said?.attempt)).toEqual([2])
  expect(again.messages.map(({ deliver }) => deliver?.commandId)).toEqual([missed])
  expect((await exchange({ busAway: true })).frames).toEqual([])
})

test('a request to stop a command that a device has had for long comes with the next answer', async () => {
  const id = await one({ epoch: 7, node: 'n1', connectivity: 'online' })
  const old = await command(id)
  await sql`update commands set status = 'running', created_at = now() - interval '1 day',
    not_before = now() - interval '1 day', deadline_at = now() + interval '1 hour'`
  expect((await exchange({ busAway: true })).frames).toEqual([])
  await sql`update commands set cancel_requested_at = now()`
  expect((await exchange({ busAway: true })).frames).toMatchObject([{ commandCancel: { commandId: old } }])
})

test('what nobody hears is not kept from those who are heard', async () => {
  const id = await one({ epoch: 7, node: 'n1', connectivity: 'online' })
  await command(id)
  const state = async () => (await sql`select attempt, lease_until from commands`)[0]
  const free = { attempt: 0, leaseUntil: null }
  expect(await offerOwed(db, { ...deps.ports, bus: away }, [id])).toBe(0)
  expect(await state()).toEqual(free)
  expect(await offerOwed(db, { ...deps.ports, bus: { up: true, publish: async () => 0 } }, [id])).toBe(0)
  expect(await state()).toEqual(free)
  expect((await exchange({ busAway: true }, away)).frames.map((frame) => frame.command?.attempt)).toEqual([1])
})

test('an answer stays within bounds; what does not fit comes with a later one', async () => {
  const ids = await makeDevices(on, 30, { epoch: 7, node: 'n1', connectivity: 'online' })
  await Promise.all(ids.map(command))
  await sql`update commands set args = jsonb_build_object('interpreter', 'sh', 'content', repeat('x', 900000))`
  const sizes: number[] = []
  for (let turn = 0; turn < 4; turn++) sizes.push((await exchange({ busAway: true }, away)).frames.length)
  expect(sizes[0]).toBeGreaterThan(5)
  expect(sizes[0]).toBeLessThan(30)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(30)
})

test('what stood in a stream, and is read after what was carried up later, turns nothing back', async () => {
  const [left, beating] = [await one(), await one()]
  const lease = await own(on, 0)
  const now = Date.now()
  const late = [
    at(item.connect(left, 7), now - 9000),
    at(item.beat(left, 7), now - 8000),
    at(item.connect(beating, 7), now - 9000),
    at(item.beat(beating, 7, { metrics: { cpuPercent: 11 } }), now - 8000),
    at(item.inventory(beating, 7, { os: { hostname: 'old' }, hash: Buffer.alloc(32, 1) }), now - 8000),
  ]
  await carry(
    at(item.connect(left, 7), now - 7000),
    at(item.disconnect(left, 7, svc.v1.CloseReason.SHUTDOWN), now - 2000),
    at(item.beat(beating, 7, { metrics: { cpuPercent: 22 } }), now - 2000),
    at(item.inventory(beating, 7, { os: { hostname: 'new' }, hash: Buffer.alloc(32, 2) }), now - 2000),
  )
  const state = async () => [
    await look(left),
    await look(beating),
    ...(await sql`select hostname from devices where id = ${beating}`),
    ...(await sql`select count(*)::int as events from outbox`),
  ]
  const before = await state()
  expect(before).toMatchObject([
    { status: 'offline', node: null },
    { status: 'online', cpuPercent: 22 },
    { hostname: 'new' },
    { events: 3 },
  ])
  await handleEntries(deps, lease, [entry('n1', late)])
  expect(await state()).toEqual(before)
  expect(framesIn(edge).filter((frame) => frame.inventoryAck)).toEqual([])
  expect(edge.filter((message) => message.disconnect)).toEqual([]) // nobody is superseded by itself
  await handleEntries(deps, lease, [entry('n1', [item.beat(beating, 7, { metrics: { cpuPercent: 33 } })])])
  expect(await look(beating)).toMatchObject({ cpuPercent: 33 })
})

test('the end of a connection counts, however late it comes', async () => {
  const id = await one()
  const lease = await own(on, 0)
  await carry(item.connect(id, 7), item.beat(id, 7))
  await handleEntries(deps, lease, [entry('n1', [at(item.disconnect(id, 7), Date.now() - 60_000)])])
  expect(await look(id)).toMatchObject({ node: null })
})

test('a connection that has ended does not begin again when its story is told twice', async () => {
  const id = await one()
  const story = [item.connect(id, 7), item.beat(id, 7), item.disconnect(id, 7, svc.v1.CloseReason.SHUTDOWN)]
  await carry(...story)
  await carry(...story)
  await carry(item.beat(id, 7))
  expect(await look(id)).toMatchObject({ status: 'offline', node: null })
  expect(await sql`select type from outbox order by at, id`).toEqual([
    { type: 'device.online' },
    { type: 'device.offline' },
  ])
})

test('the same carried by three at once while the stream is worked off comes to the same', async () => {
  const ids = await makeDevices(on, 40)
  const lease = await own(on, 0)
  const commands = new Map<string, string>()
  for (const id of ids) commands.set(id, await command(id))
  const said = (id: string) => [item.connect(id, 7), item.ack(id, 7, commands.get(id) ?? '')]
  const done = (id: string) => [item.beat(id, 7), item.result(id, 7, commands.get(id) ?? '')]
  const all = load([...ids.flatMap(said), ...ids.flatMap(done)])
  const backwards = ids.toReversed()
  await Promise.all([
    ...[1, 2, 3].map(() => exchange({ up: [all], upAlone: true })),
    handleEntries(deps, lease, [entry('n1', [...backwards.flatMap(said), ...backwards.flatMap(done)])]),
  ])
  const [row] = await sql`
    select count(*) filter (where d.status = 'online' and p.epoch = 7)::int as online,
      count(*) filter (where c.status = 'succeeded')::int as done
    from devices d join device_presence p on p.device_id = d.id join commands c on c.device_id = d.id`
  expect(row).toEqual({ online: 40, done: 40 })
  const [events] =
    await sql`select count(*)::int as n from outbox where type in ('device.online', 'command.finished')`
  expect(events).toEqual({ n: 80 })
})

test('who is silent goes offline by watermarks that were carried up, and who is not does not', async () => {
  const minutes = (n: number) => Date.now() - n * 60_000
  const [silent, alive] = [await one(), await one()]
  const marks = (throughMs: number) =>
    ['n1', 'n2'].map((node) => exchange({ node, up: [load([], { node, throughMs })], upAlone: true }))
  await Promise.all(marks(minutes(10)))
  await carry(at(item.connect(silent, 7), minutes(9)), at(item.connect(alive, 7), minutes(9)))
  await carry(at(item.beat(alive, 7), minutes(0)))
  await sql`update edge_watermarks set since = now() - interval '10 minutes'`
  await Promise.all(marks(minutes(5)))
  expect(await sweepDevices(db, deps.ports.config.pipeline)).toBe(0) // nobody knows of the last five minutes
  await Promise.all(marks(minutes(0)))
  await sql`update edge_watermarks set since = now() - interval '10 minutes'`
  expect(await sweepDevices(db, deps.ports.config.pipeline)).toBe(1)
  expect([await look(silent), await look(alive)]).toMatchObject([{ status: 'offline' }, { status: 'online' }])
})
