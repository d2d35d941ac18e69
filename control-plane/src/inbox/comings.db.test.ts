import { svc } from '@svc/proto'
import { afterAll, beforeEach, expect, test } from 'vitest'
import {
  edgeMessages,
  entry,
  item,
  makeDevices,
  makeNode,
  openPipeline,
  own,
} from '../../test/harness/pipeline.ts'
import { settleDevices } from '../engines/status/flapping.ts'
import { sweepWatchdogs } from '../engines/status/watchdog.ts'
import { handleEntries } from './inbox.ts'
import type { ShardLease } from './lease.ts'

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
})

const handle = async (...entries: ReturnType<typeof entry>[]) => {
  await handleEntries(deps, lease, entries)
  await new Promise((resolve) => setImmediate(resolve))
}
const up = (...items: svc.v1.IUpItem[]) => entry('n1', items)
const one = async () => (await makeDevices(on, 1))[0] ?? ''

interface Row {
  status: string
  epoch: number
  node: string | null
  lastSeenAt: Date | null
}
const look = async (id: string): Promise<Row> => {
  const [row] = await sql<Row[]>`
    select d.status, p.epoch, p.node, p.last_seen_at
    from devices d join device_presence p on p.device_id = d.id where d.id = ${id}`
  if (!row) throw new Error(`no device ${id}`)
  return row
}
const events = async () =>
  (await sql<{ type: string }[]>`select type from outbox order by at, id`).map((row) => row.type)
const { SHUTDOWN } = svc.v1.CloseReason

const flaps = async (id: string) =>
  (
    await sql<{ flaps: boolean; reconnects: number }[]>`
      select d.flapping_since is not null as flaps, p.reconnects from devices d join device_presence p on p.device_id = d.id
      where d.id = ${id}`
  )[0]

test('a device that connects and leaves thirty times is in one state with a count, and few events tell of it', async () => {
  const id = await one()
  for (let n = 1; n <= 30; n++) await handle(up(item.connect(id, n)), up(item.disconnect(id, n, SHUTDOWN)))
  expect(await flaps(id)).toEqual({ flaps: true, reconnects: 30 })
  expect((await look(id)).status).toBe('offline')
  const edges = Array.from({ length: 4 }, () => ['device.online', 'device.offline']).flat()
  // The two entries of one reading are one breath, and so is what it says of the fifth.
  const told = await events()
  expect(told.filter((type) => type === 'device.flapping')).toHaveLength(1)
  expect(told.length).toBeLessThanOrEqual(edges.length + 3)

  const { pipeline } = deps.ports.config
  await sql`insert into edge_watermarks (shard, node, since, through) values (0, 'n1', now() - interval '1 h', now())`
  await settleDevices(db, pipeline)
  expect((await flaps(id))?.flaps).toBe(true)
  await sql`update device_presence set reconnected_at = now() - interval '11 min'`
  await settleDevices(db, pipeline)
  expect((await flaps(id))?.flaps).toBe(false)
  expect((await events()).slice(told.length)).toEqual(
    told.findLast((type) => type.endsWith('line')) === 'device.offline'
      ? ['device.settled']
      : ['device.settled', 'device.offline'],
  )
  await settleDevices(db, pipeline)
  await handle(up(item.connect(id, 31)))
  expect(await flaps(id)).toEqual({ flaps: false, reconnects: 1 })
  expect((await events()).at(-1)).toBe('device.online')
})

test('four connections are none too many, what is said twice counts once, and a batch counts all of its connections', async () => {
  const id = await one()
  const batch = up(
    item.connect(id, 1),
    item.connect(id, 2, { connects: 2 }),
    item.connect(id, 2),
    item.connect(id, 4),
  )
  await handle(batch)
  await handle(batch)
  expect(await flaps(id)).toEqual({ flaps: false, reconnects: 4 })
  await handle(up(item.connect(id, 5)))
  expect(await flaps(id)).toEqual({ flaps: true, reconnects: 5 })
})

test('connections that are far apart are none that flap', async () => {
  const id = await one()
  for (let n = 1; n <= 8; n++) {
    await handle(up(item.connect(id, n)))
    await sql`update device_presence set reconnects_since = reconnects_since - interval '4 min'`
  }
  expect((await flaps(id))?.flaps).toBe(false)
})

const { WATCHDOG } = svc.v1.AgentRole
const watchdog = async (id: string) =>
  (
    await sql<{ watchdogStatus: string | null; mainAgentSilentSince: Date | null }[]>`
      select watchdog_status, main_agent_silent_since from devices where id = ${id}`
  )[0]

test('the watchdog speaks on its agent’s connection, then in its place, and gives way to it', async () => {
  const id = await one()
  await handle(up(item.connect(id, 7), item.beat(id, 7, { role: WATCHDOG, watchdogVersion: '3.0' })))
  expect(await watchdog(id)).toEqual({ watchdogStatus: 'connected', mainAgentSilentSince: null })
  const own = item.connect(id, 8, { hello: { role: WATCHDOG, watchdogVersion: '3.1' } })
  await handle(up(item.disconnect(id, 7)), up(own), up(item.beat(id, 8, { role: WATCHDOG })))
  expect(await watchdog(id)).toEqual({ watchdogStatus: 'failover', mainAgentSilentSince: null })
  // Nobody who could carry anything out is there, and its leaving is not the agent's.
  expect(await look(id)).toMatchObject({ node: null, epoch: 8, status: 'online' })
  await sql`update device_presence set last_seen_at = now() - interval '16 min 0.5 s'`
  const { lastSeenAt } = await look(id)
  await handle(up(item.beat(id, 8, { role: WATCHDOG })))
  await handle(up(item.beat(id, 8, { role: WATCHDOG })))
  expect(await watchdog(id)).toEqual({ watchdogStatus: 'failover', mainAgentSilentSince: lastSeenAt })
  const told = await sql`select payload from outbox where type = 'device.main_agent_silent'`
  expect(told).toMatchObject([
    {
      payload: {
        deviceId: id,
        watchdogStatus: 'failover',
        mainAgentLastSeenAt: lastSeenAt?.toISOString(),
        silenceDurationSeconds: 960,
      },
    },
  ])
  await handle(up(item.connect(id, 9)), up(item.disconnect(id, 8, SHUTDOWN)))
  expect(await watchdog(id)).toEqual({ watchdogStatus: 'connected', mainAgentSilentSince: null })
  expect(await look(id)).toMatchObject({ node: 'n1', epoch: 9, status: 'online' })
})

test('a watchdog that is not heard for ten minutes is offline, as far as the streams were worked off', async () => {
  const id = await one()
  await handle(up(item.connect(id, 7), item.beat(id, 7, { role: WATCHDOG })))
  const { pipeline } = deps.ports.config
  await sql`update device_presence set watchdog_seen_at = now() - interval '11 min'`
  await sweepWatchdogs(db, pipeline)
  expect((await watchdog(id))?.watchdogStatus).toBe('connected')
  await sql`insert into edge_watermarks (shard, node, since, through) values (0, 'n1', now() - interval '1 h', now())`
  await sweepWatchdogs(db, pipeline)
  expect((await watchdog(id))?.watchdogStatus).toBe('offline')
  await handle(up(item.beat(id, 7, { role: WATCHDOG })))
  expect((await watchdog(id))?.watchdogStatus).toBe('connected')
  // Of an older connection it says nothing any more, and its node is told so.
  await handle(up(item.beat(id, 6, { role: WATCHDOG })))
  expect(edge.at(-1)?.disconnect).toMatchObject({ deviceId: id, belowEpoch: 7 })
})
