import { svc } from '@svc/proto'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { eventually, makeDevices, openPipeline } from '../../../test/harness/pipeline.ts'
import { idsIn, online, processes, report, result, workOn } from '../../../test/harness/work.ts'
import { awaitFinish } from './await-finish.ts'
import { cancel, withdrawAll } from './cancel.ts'
import type { Ended } from './command.ts'
import { sweepCommands } from './expiry.ts'
import { findCommand } from './find.ts'
import { tellFinished } from './hints.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db, bus, deps } = on
const { clear, queue, statusOf, apply, offered } = await workOn(on)

const swept = async () => {
  const ended: Ended[] = []
  await sweepCommands(db, async (some) => void ended.push(...some))
  return ended
}

beforeEach(clear)

test('the reports of a run lead from queued to the end, and the output is what it was', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const command = await queue(id)
  await apply(report(id, command, { kind: 'acked' }))
  expect(await statusOf(command)).toBe('delivered')
  await apply(report(id, command, { kind: 'started' }))
  expect(await statusOf(command)).toBe('running')
  const data = Uint8Array.of(0, 255, 10)
  const applied = await apply(
    report(
      id,
      command,
      result({ exitCode: 0, stdout: { data, encoding: 'cp866' }, startedAtMs: 1, finishedAtMs: 2 }),
    ),
  )
  expect(applied.finished).toEqual([command])
  expect(applied.acknowledge.map((one) => one.commandId)).toEqual([command])
  const found = await findCommand(db, id, command)
  expect(found).toMatchObject({
    status: 'succeeded',
    exitCode: 0,
    error: null,
    stderr: undefined,
    lateResult: null,
  })
  expect(found?.stdout).toEqual({ data: Buffer.from(data), encoding: 'cp866', size: 3, truncated: false })
  for (const moment of ['deliveredAt', 'startedAt', 'finishedAt'] as const)
    expect(found?.[moment]).toBeInstanceOf(Date)
  expect((await sql`select type from outbox order by at, id`).map((row) => row['type'])).toEqual([
    'command.queued',
    'command.finished',
  ])
})

test('ack, progress and result of one batch come out right, in any lost or repeated form', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const [a, b] = [await queue(id), await queue(id)]
  const applied = await apply(
    report(id, a, { kind: 'acked' }),
    report(id, a, { kind: 'started' }),
    report(id, a, result()),
    report(id, a, result({ outcome: svc.v1.Outcome.FAILED })),
    report(id, b, result({ outcome: svc.v1.Outcome.FAILED, exitCode: -1 })),
    report(id, b, { kind: 'acked' }),
  )
  expect([await statusOf(a), await statusOf(b)]).toEqual(['succeeded', 'failed'])
  expect(applied.counts).toEqual({
    applied: 4,
    duplicate: 2,
    late: 0,
    unknown: 0,
    foreign: 0,
    superseded: 0,
    disowned: 0,
  })
  expect(applied.acknowledge).toHaveLength(3)
  const again = await apply(report(id, a, result()), report(id, b, result()))
  expect(again.counts.duplicate).toBe(2)
  expect(again.finished).toEqual([])
  expect(await sql`select count(*)::int as n from outbox where type = 'command.finished'`).toEqual([{ n: 2 }])
  expect(await sql`select 1 from commands where late_result is not null`).toHaveLength(0)
})

test('a result about another device’s command is refused and not acknowledged', async () => {
  const [id = '', other = ''] = await makeDevices(on, 2, online)
  const command = await queue(id)
  const applied = await apply(report(other, command, result()), report(other, command, { kind: 'acked' }))
  expect(applied).toMatchObject({ acknowledge: [], finished: [], counts: { foreign: 2 } })
  expect(await statusOf(command)).toBe('queued')
})

test('that a device disowns a frame is counted and told, and the command that it names stands as it did', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const command = await queue(id)
  const disowned = result({ outcome: svc.v1.Outcome.REJECTED, disowned: 3 })
  const applied = await apply(report(id, command, disowned), report(id, id, disowned))
  expect(applied).toMatchObject({
    acknowledge: [],
    finished: [],
    counts: { disowned: 6, applied: 0, unknown: 0 },
  })
  expect(applied.disowned).toEqual([command, id].map((commandId) => ({ deviceId: id, commandId, frames: 3 })))
  expect(await statusOf(command)).toBe('queued')
  expect(idsIn(await offered(id))).toEqual([command])
  // A refusal of what was signed for it ends the command.
  await apply(report(id, command, result({ outcome: svc.v1.Outcome.REJECTED })))
  expect(await statusOf(command)).toBe('rejected')
})

test('results of commands that nobody knows are acknowledged, whatever their id', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const applied = await apply(report(id, 'not a uuid', result()), report(id, id, result()))
  expect(applied).toMatchObject({ counts: { unknown: 2 }, finished: [] })
  expect(applied.acknowledge).toHaveLength(2)
})

test('an ack of a replaced connection is refused, a result counts', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const command = await queue(id)
  expect((await apply(report(id, command, { kind: 'acked' }, 9))).counts.superseded).toBe(1)
  expect(await statusOf(command)).toBe('queued')
  expect((await apply(report(id, command, result(), 9))).counts.applied).toBe(1)
})

test('expired means never runs; one that was just offered gets its lease’s time', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const [plain, offeredOne, fresh] = [await queue(id), await queue(id), await queue(id)]
  await sql`update commands set expires_at = now() - interval '1 s' where id <> ${fresh}`
  await sql`update commands set lease_until = now() + interval '5 s' where id = ${offeredOne}`
  expect((await swept()).map((command) => command.id)).toEqual([plain])
  await sql`update commands set lease_until = now() - interval '1 s' where id = ${offeredOne}`
  expect((await swept()).map((command) => [command.id, command.status])).toEqual([[offeredOne, 'expired']])
  expect(await statusOf(fresh)).toBe('queued')
  expect(await offered(id).then(idsIn)).toEqual([fresh])
})

test('a command without a result ends a minute after its own time, and a late result changes nothing', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const command = await queue(id)
  await apply(report(id, command, { kind: 'acked' }))
  const [row] = await sql<
    { s: number }[]
  >`select extract(epoch from deadline_at - delivered_at)::int as s from commands`
  expect(row?.s).toBe(300 + 60)
  expect(await swept()).toEqual([])
  await sql`update commands set deadline_at = now() - interval '1 s'`
  expect(await swept()).toMatchObject([{ id: command, status: 'timed_out' }])
  const asked = await apply(report(id, command, { kind: 'started' }))
  expect(asked.stop.map((one) => one.commandId)).toEqual([command])
  const late = await apply(report(id, command, result({ exitCode: 3, stdout: { data: Uint8Array.of(65) } })))
  expect(late).toMatchObject({ finished: [], counts: { late: 1 } })
  expect(late.acknowledge).toHaveLength(1)
  expect((await apply(report(id, command, result({ exitCode: 4 })))).counts.duplicate).toBe(1)
  const found = await findCommand(db, id, command)
  expect(found).toMatchObject({ status: 'timed_out', exitCode: null, stdout: undefined })
  expect(found?.lateResult).toMatchObject({ outcome: 'succeeded', exitCode: 3, stdout: { base64: 'QQ==' } })
})

test('a queued command is cancelled at once, a delivered one is asked to stop until it says how it ended', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const [queued, delivered] = [await queue(id), await queue(id)]
  expect(await db.tx((tx) => cancel(tx, id, queued))).toMatchObject({ status: 'cancelled' })
  await apply(report(id, delivered, { kind: 'acked' }))
  expect(await db.tx((tx) => cancel(tx, id, delivered))).toMatchObject({ status: 'delivered' })
  const [notice, ...more] = await offered(id)
  expect(notice?.commandCancel?.commandId).toBe(delivered)
  expect([more, await offered(id)]).toEqual([[], []])
  await apply(report(id, delivered, result({ outcome: svc.v1.Outcome.CANCELLED })))
  expect(await statusOf(delivered)).toBe('cancelled')
  expect(await offered(id)).toEqual([])
  await expect(db.tx((tx) => cancel(tx, id, delivered))).rejects.toMatchObject({
    code: 'CONFLICT',
    details: [{ from: 'cancelled', to: 'cancelled' }],
  })
})

test('decommissioning ends everything pending', async () => {
  const [id = '', other = ''] = await makeDevices(on, 2, online)
  const [a, b, c] = [await queue(id), await queue(id, processes), await queue(other)]
  await apply(report(id, b, { kind: 'started' }))
  expect((await db.tx((tx) => withdrawAll(tx, [id], 'the device was decommissioned'))).sort()).toEqual(
    [a, b].sort(),
  )
  expect([await statusOf(a), await statusOf(b), await statusOf(c)]).toEqual([
    'cancelled',
    'cancelled',
    'queued',
  ])
})

const view = async () => db

test('who waits is woken by the hint, and without a hint by looking again', async () => {
  const [id = ''] = await makeDevices(on, 1, online)
  const ports = { bus, config: { pipeline: { rereadMs: 60_000 } } }
  const [hinted, unhinted] = [await queue(id), await queue(id)]
  const first = awaitFinish(ports, view, { deviceId: id, id: hinted }, 20_000)
  await eventually(async () => (await bus.publish('api:all', new Uint8Array())) > 0, 'waiting')
  await new Promise((resolve) => setTimeout(resolve, 50))
  await apply(report(id, hinted, result()))
  await tellFinished(bus, [hinted])
  expect(await first).toMatchObject({ id: hinted, status: 'succeeded' })
  const second = awaitFinish(
    { bus, config: { pipeline: { rereadMs: 20 } } },
    view,
    { deviceId: id, id: unhinted },
    20_000,
  )
  await apply(report(id, unhinted, result()))
  expect(await second).toMatchObject({ status: 'succeeded' })
})

test('who has waited long enough gets the command as it stands', async () => {
  const [id = ''] = await makeDevices(on, 1)
  const command = await queue(id)
  expect(await awaitFinish(deps.ports, view, { deviceId: id, id: command }, 30)).toMatchObject({
    status: 'queued',
  })
})
