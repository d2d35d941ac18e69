import { Registry } from 'prom-client'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { makeDevices, openPipeline } from '../../../test/harness/pipeline.ts'
import { online, report, result, workOn } from '../../../test/harness/work.ts'
import { outboxMetrics } from '../events/lag.ts'
import { baseBackupMetrics } from '../lives/base-backup.ts'
import { lagMetrics } from '../../inbox/lag.ts'
import { noOffers } from './offers.ts'
import { pendingMetrics } from './pending.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db, deps } = on
const { clear, queue, apply, offered } = await workOn(on)
const metrics = new Registry()
for (const register of [pendingMetrics, lagMetrics, outboxMetrics, baseBackupMetrics])
  register(metrics, db, deps.log)

const shown = async (name: string) =>
  Number(new RegExp(`^svc_${name} (\\S+)$`, 'm').exec(await metrics.metrics())?.[1])
/** Whole minutes, since time goes on. */
const minutes = async (name: string) => Math.floor((await shown(name)) / 60)
/** Puts what is said of a command so far into the past. */
const longAgo = (command: string, minutesAgo: number) => sql`
  update commands set created_at = created_at - ${minutesAgo} * interval '1 minute',
    not_before = not_before - ${minutesAgo} * interval '1 minute' where id = ${command}`
const connectedAgo = (minutesAgo: number) => (Date.now() - minutesAgo * 60_000) * 1_000

beforeEach(clear)

test('the oldest queued command is told, and apart from it the oldest that could be with its device', async () => {
  const [away = ''] = await makeDevices(on, 1)
  const [here = ''] = await makeDevices(on, 1, online)
  await longAgo(await queue(away), 50)
  expect([await shown('commands_queued'), await minutes('commands_queued_oldest_seconds')]).toEqual([1, 50])
  expect(await shown('commands_undelivered_seconds')).toBe(0)
  await longAgo(await queue(here), 7)
  expect(await shown('commands_queued')).toBe(2)
  expect(await minutes('commands_undelivered_seconds')).toBe(7)
  // Who has just come has not been able to take it for longer.
  await sql`update device_presence set epoch = ${connectedAgo(2)} where device_id = ${here}`
  expect(await minutes('commands_undelivered_seconds')).toBe(2)
  await sql`update gateway_nodes set lease_until = now() - interval '1 second'`
  expect(await shown('commands_undelivered_seconds')).toBe(0)
})

test('what waits behind another one of its lane is not stuck', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const [first, second] = [await queue(id), await queue(id)]
  await longAgo(first, 30)
  await longAgo(second, 30)
  await apply(report(id, first, { kind: 'acked' }), report(id, first, { kind: 'started' }))
  await sql`update commands set delivered_at = now() - interval '20 minutes', started_at = now() - interval '20 minutes'
    where id = ${first}`
  expect([await shown('commands_running'), await minutes('commands_running_oldest_seconds')]).toEqual([1, 20])
  expect(await shown('commands_undelivered_seconds')).toBe(0)
  await apply(report(id, first, result()))
  await sql`update commands set finished_at = now() - interval '3 minutes' where id = ${first}`
  expect(await minutes('commands_undelivered_seconds')).toBe(3)
  const { left, delivered } = await apply(report(id, second, { kind: 'acked' }))
  expect(left.map(({ state, seconds }) => [state, Math.floor(seconds / 60)])).toEqual([['queued', 30]])
  expect(delivered.map((seconds) => Math.floor(seconds / 60))).toEqual([3])
})

test('delivery counts from when the device was connected, and each state from when it began', async () => {
  const [id = ''] = await makeDevices(on, 1, { ...online, epoch: connectedAgo(4) })
  const command = await queue(id)
  await longAgo(command, 600)
  const acked = await apply(report(id, command, { kind: 'acked' }, connectedAgo(0)))
  expect(acked.delivered.map((seconds) => Math.floor(seconds / 60))).toEqual([4])
  await sql`update commands set delivered_at = now() - interval '5 minutes' where id = ${command}`
  const both = await apply(
    report(id, command, { kind: 'started' }, connectedAgo(0)),
    report(id, command, result(), connectedAgo(0)),
  )
  expect(both.left.map(({ state, seconds }) => [state, Math.floor(seconds / 60)])).toEqual([
    ['delivered', 5],
    ['running', 0],
  ])
  expect(both.delivered).toEqual([])
})

test('what is offered is counted, and once more when nobody acknowledged it', async () => {
  const { offers } = deps.ports.trail
  Object.assign(offers, noOffers())
  const [id = ''] = await makeDevices(on, 1, online)
  const command = await queue(id)
  await offered(id)
  await sql`update commands set lease_until = now() - interval '1 second' where id = ${command}`
  await offered(id)
  expect(offers).toEqual({ first: 1, again: 1, cancel: 0, unheard: 0 })
})

test('a shard of a gateway that nobody takes in from is told, and nothing where there is no gateway', async () => {
  await sql`update gateway_nodes set started_at = now() - interval '10 minutes'`
  await sql`insert into edge_watermarks (shard, node, since, through)
    select s, 'n1', now(), now() from generate_series(0, 14) s on conflict do nothing`
  expect(await minutes('inbox_watermark_age_seconds')).toBe(10)
  await sql`insert into edge_watermarks (shard, node, since, through) values (15, 'n1', now(), now() - interval '2 minutes')`
  expect(await minutes('inbox_watermark_age_seconds')).toBe(2)
  await sql`update gateway_nodes set lease_until = now() - interval '1 second'`
  expect(await shown('inbox_watermark_age_seconds')).toBe(0)
})

test('events that wait are told by number and age', async () => {
  const [id = ''] = await makeDevices(on, 1)
  await queue(id)
  await sql`update outbox set at = now() - interval '6 minutes'`
  expect([await shown('outbox_waiting'), await minutes('outbox_oldest_seconds')]).toEqual([1, 6])
  await sql`update outbox set relayed_at = now()`
  expect([await shown('outbox_waiting'), await shown('outbox_oldest_seconds')]).toEqual([0, 0])
})

test('the age of a base backup is told once there was one; where nothing is archived, none is missed', async () => {
  expect(await shown('database_base_backup_age_seconds')).toBe(Number.NaN)
  await sql`insert into base_backup (name, finished_at) values ('20261128T020000Z', now() - interval '90 minutes')`
  expect(await minutes('database_base_backup_age_seconds')).toBe(90)
})
