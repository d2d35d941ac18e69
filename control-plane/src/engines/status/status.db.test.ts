import { afterAll, beforeEach, expect, test } from 'vitest'
import { makeDevices, makeNode, openPipeline } from '../../../test/harness/pipeline.ts'
import { moveDevice } from './move.ts'
import { type Facts, project } from './states.ts'
import { sweepDevices } from './sweep.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db } = on
const { pipeline } = on.deps.ports.config

beforeEach(async () => {
  await sql`truncate devices, device_presence, gateway_nodes, edge_watermarks, outbox, commands cascade`
})

const secondsAgo = (seconds: number) => new Date(Date.now() - seconds * 1000)

/** A node's watermark in a shard, in seconds before now. */
const mark = (node: string, shard: number, since: number, through: number) => sql`
  insert into edge_watermarks (shard, node, since, through)
  values (${shard}, ${node}, ${secondsAgo(since)}, ${secondsAgo(through)})
  on conflict (shard, node) do update set since = excluded.since, through = excluded.through`

const statusOf = async (id: string | undefined) =>
  (await sql<{ status: string }[]>`select status from devices where id = ${id ?? null}`)[0]?.status

const eventTypes = async () =>
  (await sql<{ type: string }[]>`select type from outbox order by at, id`).map((row) => row.type)

test('the generated column says what the projection says, for every combination of facts', async () => {
  const combinations: Facts[] = (['pending', 'active', 'quarantined', 'decommissioned'] as const).flatMap(
    (lifecycle) =>
      (['online', 'offline'] as const).flatMap((connectivity) =>
        (['none', 'updating'] as const).flatMap((activity) =>
          [true, false].map((inMaintenance) => ({ lifecycle, connectivity, activity, inMaintenance })),
        ),
      ),
  )
  const ids = await makeDevices(on, combinations.length)
  for (const [i, facts] of combinations.entries()) {
    const [row] = await sql<{ status: string }[]>`
      update devices set lifecycle = ${facts.lifecycle}, connectivity = ${facts.connectivity}, activity = ${facts.activity},
        in_maintenance = ${facts.inMaintenance} where id = ${ids[i] ?? null} returning status`
    expect(row?.status, JSON.stringify(facts)).toBe(project(facts))
  }
})

test('moving a device writes facts, the moment of last contact, and events', async () => {
  const [id = ''] = await makeDevices(on, 1, { connectivity: 'online', lastSeenAt: secondsAgo(7) })
  expect(await db.tx((tx) => moveDevice(tx, id, 'decommissioned'))).toEqual({
    before: 'online',
    after: 'decommissioned',
  })
  const [row] =
    await sql`select connectivity, decommissioned_at, offline_seen_at < now() - interval '6 s' as frozen from devices where id = ${id}`
  expect(row?.['connectivity']).toBe('offline')
  expect(row?.['decommissionedAt']).toBeInstanceOf(Date)
  expect(row?.['frozen']).toBe(true)
  expect(await eventTypes()).toEqual(['device.decommissioned', 'device.offline'])
  await expect(db.tx((tx) => moveDevice(tx, id, 'quarantined'))).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(await db.tx((tx) => moveDevice(tx, id, 'restored'))).toEqual({
    before: 'decommissioned',
    after: 'offline',
  })
  expect(await sql`select decommissioned_at from devices where id = ${id}`).toEqual([
    { decommissionedAt: null },
  ])
})

test('a device that nobody may see cannot be moved', async () => {
  const elsewhere = '00000000-0000-7000-8000-000000000000'
  expect(await db.tx((tx) => moveDevice(tx, elsewhere, 'quarantined'))).toBeUndefined()
})

test('a vanished device goes offline after 90 s, and not before', async () => {
  await makeNode(on, 'n1')
  await mark('n1', 0, 1000, 1)
  const [gone] = await makeDevices(on, 1, { connectivity: 'online', lastSeenAt: secondsAgo(92) })
  const [recent] = await makeDevices(on, 1, { connectivity: 'online', lastSeenAt: secondsAgo(88) })
  expect(await sweepDevices(db, pipeline)).toBe(1)
  expect([await statusOf(gone), await statusOf(recent)]).toEqual(['offline', 'online'])
  const [event] = await sql`select type, subject_id, payload from outbox`
  expect(event).toMatchObject({
    type: 'device.offline',
    subjectId: gone,
    payload: { from: 'online', to: 'offline' },
  })
  expect(await sweepDevices(db, pipeline)).toBe(0)
})

test('a device on a live connection may be silent for 150 s', async () => {
  await makeNode(on, 'n1')
  await mark('n1', 0, 1000, 1)
  const connected = { connectivity: 'online', node: 'n1' } as const
  const [silent] = await makeDevices(on, 1, { ...connected, lastSeenAt: secondsAgo(152) })
  const [patient] = await makeDevices(on, 1, { ...connected, lastSeenAt: secondsAgo(148) })
  await sweepDevices(db, pipeline)
  expect([await statusOf(silent), await statusOf(patient)]).toEqual(['offline', 'online'])
})

test('a node whose lease has run out holds no device', async () => {
  await makeNode(on, 'dead', -1)
  await makeNode(on, 'n1')
  await mark('dead', 0, 1000, 1)
  await mark('n1', 0, 1000, 1)
  const [id] = await makeDevices(on, 1, { connectivity: 'online', node: 'dead', lastSeenAt: secondsAgo(100) })
  await sweepDevices(db, pipeline)
  expect(await statusOf(id)).toBe('offline')
})

test('a stalled watermark takes nobody offline, however long it stands', async () => {
  await makeNode(on, 'n1')
  await mark('n1', 0, 9000, 31)
  await makeDevices(on, 1, { connectivity: 'online', node: 'n1', lastSeenAt: secondsAgo(8000) })
  await makeDevices(on, 1, { connectivity: 'online', lastSeenAt: secondsAgo(8000) })
  expect(await sweepDevices(db, pipeline)).toBe(0)
  await mark('n1', 0, 9000, 1)
  expect(await sweepDevices(db, pipeline)).toBe(2)
})

test('one stalled node of two spares those who may have come back on it, and no one else', async () => {
  await makeNode(on, 'n1')
  await makeNode(on, 'n2')
  await mark('n1', 0, 1000, 1)
  await mark('n2', 0, 1000, 40)
  const [onLive] = await makeDevices(on, 1, {
    connectivity: 'online',
    node: 'n1',
    lastSeenAt: secondsAgo(200),
  })
  const [onStalled] = await makeDevices(on, 1, {
    connectivity: 'online',
    node: 'n2',
    lastSeenAt: secondsAgo(200),
  })
  const [nowhere] = await makeDevices(on, 1, { connectivity: 'online', lastSeenAt: secondsAgo(200) })
  await sweepDevices(db, pipeline)
  expect([await statusOf(onLive), await statusOf(onStalled), await statusOf(nowhere)]).toEqual([
    'offline',
    'online',
    'online',
  ])
})

test('without a live node, or with one that has said nothing yet, nobody is swept', async () => {
  await makeDevices(on, 1, { connectivity: 'online', lastSeenAt: secondsAgo(500) })
  expect(await sweepDevices(db, pipeline)).toBe(0)
  await makeNode(on, 'n1')
  expect(await sweepDevices(db, pipeline)).toBe(0)
  await mark('n1', 1, 1000, 1) // another shard's
  expect(await sweepDevices(db, pipeline)).toBe(0)
})

test('silence counts from when listening began', async () => {
  await makeNode(on, 'n1')
  await mark('n1', 0, 60, 1)
  await makeDevices(on, 1, { connectivity: 'online', lastSeenAt: secondsAgo(3600) })
  await makeDevices(on, 1, { connectivity: 'online', node: 'n1', lastSeenAt: secondsAgo(3600) })
  expect(await sweepDevices(db, pipeline)).toBe(0)
  await mark('n1', 0, 92, 1)
  expect(await sweepDevices(db, pipeline)).toBe(1)
  await mark('n1', 0, 152, 1)
  expect(await sweepDevices(db, pipeline)).toBe(1)
})

test('an updating device has five minutes to come back, then it is offline', async () => {
  await makeNode(on, 'n1')
  await mark('n1', 0, 1000, 1)
  const updating = { connectivity: 'online', activity: 'updating' } as const
  const [late] = await makeDevices(on, 1, { ...updating, lastSeenAt: secondsAgo(302) })
  const [busy] = await makeDevices(on, 1, { ...updating, lastSeenAt: secondsAgo(298) })
  await sweepDevices(db, pipeline)
  expect([await statusOf(late), await statusOf(busy)]).toEqual(['offline', 'updating'])
})

test('the sweep works in chunks until everybody is done, and freezes last contact', async () => {
  await makeNode(on, 'n1')
  for (let shard = 0; shard < 16; shard++) await mark('n1', shard, 1000, 1)
  const shards = [...Array(16).keys()]
  await makeDevices(on, 45, { connectivity: 'online', lastSeenAt: secondsAgo(100), shards })
  expect(await sweepDevices(db, { ...pipeline, sweepChunk: 10 })).toBe(45)
  const [row] = await sql`
    select count(*) filter (where d.offline_seen_at = p.last_seen_at and d.last_seen_rank = p.last_seen_at)::int as frozen
    from devices d join device_presence p on p.device_id = d.id`
  expect(row).toEqual({ frozen: 45 })
  expect(await eventTypes()).toHaveLength(45)
})

test('a heartbeat that is being written keeps its device online', async () => {
  await makeNode(on, 'n1')
  await mark('n1', 0, 1000, 1)
  const [id = ''] = await makeDevices(on, 1, { connectivity: 'online', lastSeenAt: secondsAgo(100) })
  await sql.begin(async (tx) => {
    await tx`update device_presence set last_seen_at = now() where device_id = ${id}`
    expect(await sweepDevices(db, pipeline)).toBe(0)
  })
  expect(await sweepDevices(db, pipeline)).toBe(0)
})
