import { svc } from '@svc/proto'
import { names } from '@svc/proto/bus'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import {
  edgeMessages,
  eventually,
  framesIn,
  handUp,
  item,
  makeDevices,
  makeNode,
  openPipeline,
} from '../test/harness/pipeline.ts'
import { inboxCounters } from './inbox/counters.ts'
import { dispatch } from './engines/work/hints.ts'
import { send } from './engines/work/send.ts'
import { handleEntries } from './inbox/inbox.ts'
import { take } from './inbox/lease.ts'
import { startWorker } from './worker.ts'

const on = await openPipeline({
  workerLeaseMs: 1_000,
  workerRenewMs: 60,
  readBlockMs: 50,
  retryMs: 10,
  retryMaxMs: 50,
  commandSweepMs: 40,
  deviceSweepMs: 40,
  relayMs: 20,
})
const { sql, db, bus } = on
const edge = await edgeMessages(bus, 'n1')

let workers: Awaited<ReturnType<typeof startWorker>>[] = []
const start = async (node: string) => {
  const worker = await startWorker({ ...on.deps, ports: { ...on.deps.ports, node }, metrics: new Registry() })
  workers.push(worker)
  return worker
}

beforeEach(async () => {
  await sql`truncate devices, device_presence, gateway_nodes, edge_watermarks, outbox, commands, workers, schedules cascade`
  await sql`update shard_leases set owner = null, lease_until = '-infinity'`
  await makeNode(on, 'n1')
  edge.length = 0
})
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.close()))
  workers = []
})
afterAll(() => on.close())

const shards = [...Array(16).keys()]
const share = async () =>
  (
    await sql<{ owner: string; n: number }[]>`
    select split_part(owner, '.', 1) as owner, count(*)::int as n from shard_leases where lease_until > now() group by 1 order by 1`
  )
    .map(({ owner, n }) => `${owner}:${n}`)
    .join(' ')
const shareIs = (what: string) => eventually(async () => (await share()) === what, `shares ${what}`)
const online = async () =>
  (await sql<{ n: number }[]>`select count(*)::int as n from devices where status = 'online'`)[0]?.n

test('one worker works off every shard', async () => {
  const ids = await makeDevices(on, 64, { shards })
  for (const shard of shards)
    await handUp(
      bus,
      'n1',
      shard,
      ids.filter((_, i) => i % 16 === shard).map((id) => item.beat(id, 7)),
    )
  await start('a')
  await eventually(async () => (await online()) === 64, 'everybody online')
  await eventually(
    async () => (await sql`select 1 from outbox where relayed_at is not null`).length === 64,
    'events relayed',
  )
})

test('workers share the shards as they come and go, and nothing is lost meanwhile', async () => {
  const ids = await makeDevices(on, 160, { shards })
  const a = await start('a')
  await shareIs('a:16')
  let at = 0
  const feed = setInterval(() => {
    const id = ids[at++]
    if (id) void handUp(bus, 'n1', (at - 1) % 16, [item.beat(id, 7)])
  }, 5)
  await start('b')
  await shareIs('a:8 b:8')
  await start('c')
  await shareIs('a:6 b:5 c:5')
  await a.close()
  await shareIs('b:8 c:8')
  await eventually(() => at >= ids.length, 'all handed up')
  clearInterval(feed)
  await eventually(async () => (await online()) === 160, 'everybody online')
})

test('a worker that died between commit and acknowledgement is succeeded, and its work done once', async () => {
  const [id = ''] = await makeDevices(on, 1)
  const command = await db.tx((tx) =>
    send(tx, { deviceId: id, type: 'refresh_inventory', args: {}, issuedBy: 'system' }),
  )
  // The one that dies: it owns the shard, reads, commits the first entry, and is heard of no more.
  const [lease] = await db.tx((tx) => take(tx, 'dead', 1, { workerLeaseMs: 300 }))
  expect(lease?.shard).toBe(0)
  const consumer = bus.consumer(names.up(0), names.upGroup(), 'dead')
  await handUp(bus, 'n1', 0, [item.connect(id, 7)])
  await handUp(bus, 'n1', 0, [
    item.result(id, 7, command?.id ?? '', { result: Buffer.from('{"collected":[]}') }),
  ])
  const entries = await consumer.read({ count: 10, blockMs: 100 })
  expect(entries).toHaveLength(2)
  const counters = inboxCounters(new Registry())
  if (lease) await handleEntries({ ...on.deps, counters }, lease, entries.slice(0, 1))
  await start('a')
  await eventually(
    async () => (await sql`select 1 from commands where status = 'succeeded'`).length === 1,
    'the result',
  )
  expect(
    await sql`select type, count(*)::int as n from outbox where type <> 'command.queued' group by 1 order by 1`,
  ).toEqual([
    { type: 'command.finished', n: 1 },
    { type: 'device.online', n: 1 },
  ])
})

test('entries that a former owner was handed after the take-over are found again', async () => {
  await start('a')
  await shareIs('a:16')
  const [id = ''] = await makeDevices(on, 1)
  const zombie = bus.consumer(names.up(0), names.upGroup(), 'zombie')
  // In one go: the entry is the zombie's before the worker, which waits for it, comes to run.
  const appended = handUp(bus, 'n1', 0, [item.beat(id, 7)])
  const stolen = zombie.read({ count: 1, blockMs: 0 })
  await appended
  expect(await stolen).toHaveLength(1)
  await eventually(async () => (await online()) === 1, 'online')
})

test('a command goes out at the hint, comes back, and its lane goes on', async () => {
  const [id = ''] = await makeDevices(on, 1, { node: 'n1', epoch: 7, connectivity: 'online' })
  await start('a')
  await shareIs('a:16')
  const sent = await db.tx((tx) =>
    send(tx, { deviceId: id, type: 'list_processes', args: {}, issuedBy: 'system' }),
  )
  await dispatch({ bus }, id)
  await eventually(() => framesIn(edge).some((frame) => frame.command), 'the command')
  await handUp(bus, 'n1', 0, [
    item.ack(id, 7, sent?.id ?? ''),
    item.result(id, 7, sent?.id ?? '', { outcome: svc.v1.Outcome.FAILED }),
  ])
  await eventually(
    () => framesIn(edge).some((frame) => frame.resultAck?.commandId === sent?.id),
    'the acknowledgement',
  )
  expect(await sql`select status from commands`).toEqual([{ status: 'failed' }])
})

test('recurring jobs end what has had its time', async () => {
  const [id = ''] = await makeDevices(on, 1)
  await db.tx((tx) => send(tx, { deviceId: id, type: 'list_processes', args: {}, issuedBy: 'system' }))
  await sql`update commands set expires_at = now() + interval '100 ms'`
  await start('a')
  await eventually(
    async () => (await sql`select 1 from commands where status = 'expired'`).length === 1,
    'expiry',
  )
})

test('a shard whose batch fails is tried again and holds up no other', async () => {
  const ids = await makeDevices(on, 2, { shards: [0, 1] })
  // Nobody can write this one presence row for a while.
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const blocking = sql.begin(async (tx) => {
    await tx`select from device_presence where device_id = ${ids[0] ?? null} for update`
    await held
  })
  await start('a')
  for (const [i, id] of ids.entries()) await handUp(bus, 'n1', i, [item.beat(id, 7)])
  await eventually(async () => (await online()) === 1, 'the free one online')
  release()
  await blocking
  await eventually(async () => (await online()) === 2, 'both online')
})
