import { svc } from '@svc/proto'
import fc from 'fast-check'
import { afterAll, beforeEach, expect, test } from 'vitest'
import {
  type DeviceFacts,
  edgeMessages,
  entry,
  framesIn,
  idInShard,
  item,
  makeDevices,
  makeNode,
  openPipeline,
  own,
} from '../../test/harness/pipeline.ts'
import { send } from '../engines/work/send.ts'
import { handleEntries } from './inbox.ts'
import { LeaseLost, type ShardLease } from './lease.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db, deps } = on
const edge = await edgeMessages(on.bus, 'n1')
let lease: ShardLease

beforeEach(async () => {
  await sql`truncate devices, device_presence, gateway_nodes, edge_watermarks, outbox, commands cascade`
  await makeNode(on, 'n1')
  lease = await own(on, 0)
  edge.length = 0
  on.logged.length = 0
})

const handle = async (...entries: ReturnType<typeof entry>[]) => {
  await handleEntries(deps, lease, entries)
  await new Promise((resolve) => setImmediate(resolve))
}
const up = (...items: svc.v1.IUpItem[]) => entry('n1', items)
const one = async (facts: DeviceFacts = {}) => (await makeDevices(on, 1, facts))[0] ?? ''

interface Row {
  status: string
  epoch: number
  node: string | null
  lastSeenAt: Date | null
  cpuPercent: number | null
  agentVersion: string | null
  lastUser: string | null
  pendingReboot: boolean
  lastSeenIp: string | null
  offlineSeenAt: Date | null
}
const look = async (id: string): Promise<Row> => {
  const [row] = await sql<Row[]>`
    select d.status, p.epoch, p.node, p.last_seen_at, p.cpu_percent, d.agent_version, d.last_user, d.pending_reboot,
      host(d.last_seen_ip) as last_seen_ip, d.offline_seen_at
    from devices d join device_presence p on p.device_id = d.id where d.id = ${id}`
  if (!row) throw new Error(`no device ${id}`)
  return row
}
const events = async () =>
  (await sql<{ type: string }[]>`select type from outbox order by at, id`).map((row) => row.type)
const { SHUTDOWN, DRAINING } = svc.v1.CloseReason

test('a connect makes a device online, on its node, at its epoch', async () => {
  const id = await one({ lifecycle: 'pending' })
  await handle(up(item.connect(id, 7)))
  expect(await look(id)).toMatchObject({
    status: 'online',
    epoch: 7,
    node: 'n1',
    agentVersion: '1.0.0',
    lastSeenIp: '192.0.2.7',
  })
  expect(await events()).toEqual(['device.online'])
  expect(await sql`select 1 from devices where enrolled_at is not null`).toHaveLength(1)
})

test('a heartbeat says what it says, and the next one of the same content writes no device row', async () => {
  const id = await one()
  const beat = {
    metrics: { cpuPercent: 12.5, ramPercent: Number.NaN },
    loggedInUser: 'ada\0',
    pendingReboot: true,
    uptimeSeconds: 5,
  }
  await handle(up(item.beat(id, 7, beat)))
  expect(await look(id)).toMatchObject({
    status: 'online',
    cpuPercent: 12.5,
    lastUser: 'ada\u{fffd}',
    pendingReboot: true,
  })
  const [before] = await sql`select xmin::text from devices`
  await handle(up(item.beat(id, 7, { ...beat, loggedInUser: '' })))
  expect(await sql`select xmin::text from devices`).toEqual([before])
  expect((await look(id)).lastUser).toBe('ada\u{fffd}')
  expect(await events()).toEqual(['device.online'])
})

test('connect, heartbeat and disconnect of one batch come out as they happened', async () => {
  const id = await one()
  await handle(up(item.connect(id, 7), item.beat(id, 7), item.disconnect(id, 7)))
  expect(await look(id)).toMatchObject({ status: 'online', node: null, epoch: 7 })
  await handle(up(item.connect(id, 8), item.disconnect(id, 8, SHUTDOWN)))
  expect(await look(id)).toMatchObject({ status: 'offline', node: null, epoch: 8 })
  await handle(up(item.connect(id, 9), item.disconnect(id, 9, SHUTDOWN), item.connect(id, 10)))
  expect(await look(id)).toMatchObject({ status: 'online', node: 'n1', epoch: 10 })
  expect(await events()).toEqual(['device.online', 'device.offline', 'device.online'])
})

test('a farewell is offline at once and freezes last contact; any other end is not', async () => {
  const id = await one()
  await handle(up(item.connect(id, 7)), up(item.disconnect(id, 7, DRAINING)))
  expect(await look(id)).toMatchObject({ status: 'online', node: null })
  await handle(up(item.connect(id, 8)), up(item.disconnect(id, 8, SHUTDOWN)))
  const row = await look(id)
  expect(row.status).toBe('offline')
  expect(row.offlineSeenAt).toEqual(row.lastSeenAt)
})

test('a late disconnect of the old connection leaves the new one alone', async () => {
  const id = await one()
  await handle(
    entry('n2', [item.connect(id, 7)]),
    up(item.connect(id, 8)),
    entry('n2', [item.disconnect(id, 7, SHUTDOWN)]),
  )
  expect(await look(id)).toMatchObject({ status: 'online', node: 'n1', epoch: 8 })
  await handle(entry('n2', [item.disconnect(id, 7, SHUTDOWN)]))
  expect(await look(id)).toMatchObject({ status: 'online', node: 'n1', epoch: 8 })
})

test('a lower epoch is refused and its node told so', async () => {
  const id = await one({ epoch: 9, node: 'n2' })
  await handle(up(item.beat(id, 8)))
  expect(await look(id)).toMatchObject({ status: 'offline', node: 'n2', epoch: 9, lastSeenAt: null })
  const { SUPERSEDED } = svc.v1.CloseReason
  expect(edge.map((message) => message.disconnect)).toMatchObject([
    { deviceId: id, belowEpoch: 9, reason: SUPERSEDED },
  ])
})

test('last contact only moves forward, and not ahead of the database', async () => {
  const id = await one()
  await handle(up(item.beat(id, 7, {}, Date.now() + 3_600_000)))
  const first = (await look(id)).lastSeenAt?.getTime() ?? 0
  expect(first).toBeLessThanOrEqual(Date.now() + 50)
  await handle(up(item.beat(id, 7, {}, 1000)))
  expect((await look(id)).lastSeenAt?.getTime()).toBe(first)
})

test('a batch that is read again changes nothing', async () => {
  const id = await one({ epoch: 1, node: 'n1' })
  const command = await db.tx((tx) =>
    send(tx, { deviceId: id, type: 'refresh_inventory', args: {}, issuedBy: 'system' }),
  )
  const batch = [
    up(item.connect(id, 7), item.ack(id, 7, command?.id ?? '')),
    up(item.beat(id, 7), item.result(id, 7, command?.id ?? '')),
  ]
  await handle(...batch)
  const state = () => sql`
    select d.status, p.*, c.status as command, c.finished_at, (select count(*)::int from outbox) as events
    from devices d join device_presence p on p.device_id = d.id join commands c on c.device_id = d.id`
  const before = await state()
  await handle(...batch)
  expect(await state()).toEqual(before)
})

test('an update ends with the first heartbeat of the new version', async () => {
  const id = await one({ connectivity: 'online', activity: 'updating' })
  await sql`update devices set agent_version = '1.0.0'`
  await handle(up(item.beat(id, 7)))
  expect((await look(id)).status).toBe('updating')
  await handle(up(item.beat(id, 7, { agentVersion: '1.1.0' })))
  expect(await look(id)).toMatchObject({ status: 'online', agentVersion: '1.1.0' })
})

test('a heartbeat brings back nobody who was cut off', async () => {
  const [quarantined, retired] = [
    await one({ lifecycle: 'quarantined' }),
    await one({ lifecycle: 'decommissioned' }),
  ]
  await handle(up(item.beat(quarantined, 7), item.beat(retired, 7)))
  expect([(await look(quarantined)).status, (await look(retired)).status]).toEqual([
    'quarantined',
    'decommissioned',
  ])
  expect(await events()).toEqual([])
})

test('the watchdog’s heartbeat is no sign of the agent', async () => {
  const id = await one()
  await handle(up(item.beat(id, 7, { role: svc.v1.AgentRole.WATCHDOG, watchdogVersion: '3.0' })))
  expect(await look(id)).toMatchObject({ status: 'offline', lastSeenAt: null })
})

test('poison is left out, told and counted, and holds up nobody', async () => {
  const [a, b] = [await one(), await one()]
  const wrongShard = idInShard(3)
  await sql`alter table devices add constraint planted check (agent_version <> 'poison')`
  try {
    await handle(
      { id: 'x', payload: Uint8Array.of(255, 255) },
      up(item.beat(a, 7), item.beat(idInShard(0), 7), item.beat(wrongShard, 7), item.beat('nobody', 7)),
      up(item.beat(b, 7, { agentVersion: 'poison' })),
      entry('n1', [item.connect(a, 8), item.beat(b, 8)], Date.now()),
    )
  } finally {
    await sql`alter table devices drop constraint planted`
  }
  expect(await look(a)).toMatchObject({ status: 'online', epoch: 8 })
  expect(await look(b)).toMatchObject({ status: 'online', epoch: 8, agentVersion: '1.0.0' })
  expect(await sql`select node from edge_watermarks`).toEqual([{ node: 'n1' }])
  const metrics = await deps.metrics.metrics()
  for (const reason of ['undecodable', 'malformed', 'wrong_shard'])
    expect(metrics).toContain(`reason="${reason}"} 1`)
  expect(metrics).toContain('svc_inbox_refused_total{reason="unknown_device"}')
})

test('an item that Postgres refuses stands alone in the end', async () => {
  const ids = await makeDevices(on, 9)
  await sql`alter table devices add constraint planted check (agent_version <> 'poison')`
  try {
    await handle(up(...ids.map((id, i) => item.beat(id, 7, { agentVersion: i === 4 ? 'poison' : '1.0.0' }))))
  } finally {
    await sql`alter table devices drop constraint planted`
  }
  const [row] = await sql`select count(*) filter (where status = 'online')::int as online from devices`
  expect(row).toEqual({ online: 8 })
  expect(on.logged).toMatchObject([{ level: 'error', details: { deviceId: ids[4], kind: 'heartbeat' } }])
})

test('what is wrong with the world is not taken for poison', async () => {
  const id = await one()
  await sql`revoke update on devices from svc_worker`
  try {
    await expect(handle(up(item.beat(id, 7)))).rejects.toMatchObject({ code: '42501' })
  } finally {
    await sql`grant update on devices to svc_worker`
  }
  expect((await look(id)).epoch).toBe(0)
})

test('who has lost the shard commits nothing', async () => {
  const id = await one()
  const old = lease
  lease = await own(on, 0, 'another')
  await expect(handleEntries(deps, old, [up(item.beat(id, 7))])).rejects.toThrow(LeaseLost)
  expect(await look(id)).toMatchObject({ status: 'offline', epoch: 0 })
})

test('watermarks move with the batch, and a gap starts listening anew', async () => {
  const marks =
    () => sql`select extract(epoch from now() - since)::int as since, extract(epoch from now() - through)::int as through
    from edge_watermarks where node = 'n1'`
  const ago = (seconds: number) => Date.now() - seconds * 1000
  await handle(entry('n1', [], ago(100)), entry('n1', [], ago(80)))
  expect(await marks()).toEqual([{ since: 100, through: 80 }])
  await handle(entry('n1', [], ago(60)))
  expect(await marks()).toEqual([{ since: 100, through: 60 }])
  await handle(entry('n1', [], ago(20)))
  expect(await marks()).toEqual([{ since: 20, through: 20 }])
  await handle(entry('n1', [], ago(90)))
  expect(await marks()).toEqual([{ since: 20, through: 20 }])
  await handle(entry('n1', [], ago(-1000)))
  expect((await marks())[0]?.['through']).toBe(0)
})

test('a batch waits for a device before it locks its commands, as whoever takes the device out of service does', async () => {
  const id = await one({ epoch: 7, node: 'n1' })
  const { id: command } =
    (await db.tx((tx) =>
      send(tx, { deviceId: id, type: 'refresh_inventory', args: {}, issuedBy: 'system' }),
    )) ?? {}
  const inventory = {
    hash: Buffer.alloc(32, 1),
    collectedAtMs: Date.now(),
    os: { hostname: 'renamed', name: 'Debian', version: '12' },
  }
  let handled: Promise<void> | undefined
  const locked = await sql.begin(async (other) => {
    await other`select 1 from devices where id = ${id} for no key update`
    handled = handle(
      up(item.ack(id, 7, command ?? ''), item.result(id, 7, command ?? ''), item.inventory(id, 7, inventory)),
    )
    const [{ pid } = { pid: 0 }] = await other<{ pid: number }[]>`select pg_backend_pid() as pid`
    await expect
      .poll(() => sql`select 1 from pg_stat_activity where ${pid} = any (pg_blocking_pids(pid))`, {
        timeout: 20_000,
      })
      .toHaveLength(1)
    return other`select id from commands where id = ${command ?? ''} for update nowait`
  })
  expect(locked).toHaveLength(1)
  await handled
  expect(await sql`select status from commands where id = ${command ?? ''}`).toEqual([
    { status: 'succeeded' },
  ])
})

test('a heartbeat fetches what is owed, a result is acknowledged and makes room', async () => {
  const id = await one({ epoch: 7, node: 'n1' })
  for (let i = 0; i < 3; i++) {
    await db.tx((tx) =>
      send(tx, {
        deviceId: id,
        type: 'run_script',
        args: { interpreter: 'sh', content: 'true' },
        issuedBy: 'user:1',
      }),
    )
  }
  await handle(up(item.beat(id, 7)))
  const offered = framesIn(edge).map(
    (frame) => svc.v1.CommandBody.decode(frame.command?.body ?? new Uint8Array()).commandId,
  )
  expect(offered).toHaveLength(2)
  edge.length = 0
  await handle(up(item.ack(id, 7, offered[0] ?? ''), item.result(id, 7, offered[0] ?? '')))
  const frames = framesIn(edge)
  expect(frames[0]?.resultAck?.commandId).toBe(offered[0])
  expect(frames.slice(1).map((frame) => frame.body)).toEqual(['command'])
})

test('a thousand heartbeats are a handful of statements', async () => {
  const ids = await makeDevices(on, 1000, { connectivity: 'online', node: 'n1', epoch: 7 })
  await sql`update devices set agent_version = '1.0.0'`
  let statements = 0
  const counting = {
    ...db,
    rows: (...args: Parameters<typeof db.rows>) => (statements++, db.rows(...args)),
    tx: (work: Parameters<typeof db.tx>[0]) =>
      db.tx((tx) =>
        work({
          ...tx,
          rows: (...args) => (statements++, tx.rows(...args)),
          one: (...args) => (statements++, tx.one(...args)),
          run: (...args) => (statements++, tx.run(...args)),
        }),
      ),
  } as typeof db
  await handleEntries({ ...deps, db: counting }, lease, [
    entry(
      'n1',
      ids.map((id) => item.beat(id, 7)),
      Date.now(),
    ),
  ])
  expect(await sql`select 1 from device_presence where last_seen_at is not null`).toHaveLength(1000)
  // Five, and one every few seconds that reads the releases.
  expect(statements).toBeLessThanOrEqual(6)
})

test('any order of two connections on two nodes ends where the newer one says', async () => {
  // Each node's own items stay in order; between nodes, and in how they fall into reads, anything goes.
  const anyOrder = fc.shuffledSubarray([0, 0, 0, 1, 1], { minLength: 5 })
  const anyReads = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 5, maxLength: 5 })
  const anyEnd = fc.constantFrom(SHUTDOWN, DRAINING)
  await fc.assert(
    fc.asyncProperty(anyOrder, anyReads, anyEnd, async (order, reads, end) => {
      const id = await one()
      const old = [item.connect(id, 7), item.beat(id, 7), item.disconnect(id, 7, end)]
      const newer = [item.connect(id, 8), item.beat(id, 8)]
      const entries = order.map((which) =>
        which === 0 ? entry('n2', old.splice(0, 1)) : entry('n1', newer.splice(0, 1)),
      )
      for (const size of reads) await handle(...entries.splice(0, size))
      expect(await look(id)).toMatchObject({ status: 'online', node: 'n1', epoch: 8 })
    }),
    { numRuns: 40 },
  )
})
