import type { svc } from '@svc/proto'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { item, openPipeline } from '../../../test/harness/pipeline.ts'
import { status, updatesOn } from '../../../test/harness/updates.ts'
import { sweepDevices } from '../status/sweep.ts'
import { endStalledUpdates } from './report.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db, deps } = on
const scene = updatesOn(on)
const { machine, handle, beat } = scene

beforeEach(() => scene.clear())

describe('an update that is under way', () => {
  const look = async (id: string) => {
    const [row] = await sql<{ status: string; phase: string | null; reason: string | null }[]>`
      select d.status, u.phase, u.reason from devices d left join device_updates u on u.device_id = d.id where d.id = ${id}`
    return [row?.status, row?.phase, row?.reason]
  }
  const events = async () =>
    (await sql<{ type: string }[]>`select type from outbox order by id`).map(({ type }) => type)

  test('makes the device `updating`, and its end makes it what it was', async () => {
    const id = await machine()
    for (const phase of ['DOWNLOADING', 'VERIFYING', 'BACKING_UP', 'SWAPPING', 'RESTARTING'] as const) {
      await handle([status(id, phase)])
      expect(await look(id)).toEqual(['updating', phase.toLowerCase(), null])
    }
    await handle([item.connect(id, 8, { hello: { agentVersion: '1.1.0' } }), status(id, 'DONE', {}, 8)])
    expect(await look(id)).toEqual(['online', 'done', null])
    expect(await events()).toEqual(['device.update_started', 'device.updated'])
    const [started] = await sql`select payload, subject_id from outbox where type = 'device.update_started'`
    expect(started).toEqual({
      subjectId: id,
      payload: {
        deviceId: id,
        component: 'agent',
        from: '1.0.0',
        to: '1.1.0',
        phase: 'downloading',
        reason: null,
      },
    })
  })

  test.each([
    ['UPDATE_FAILED', 'failed', 'bad_signature'],
    ['ROLLED_BACK', 'rolled_back', 'exit_at_start'],
  ] as const)(
    'that ends with %s leaves the device as it was, and the reason',
    async (phase, shown, reason) => {
      const id = await machine()
      await handle([status(id, 'DOWNLOADING'), status(id, phase, { reason })])
      expect(await look(id)).toEqual(['online', shown, reason])
      expect(await events()).toEqual(['device.update_started', 'device.update_failed'])
    },
  )

  test('ends with the first heartbeat of the new version, whatever is said late', async () => {
    const id = await machine()
    await handle([status(id, 'RESTARTING')])
    await beat(id, { agentVersion: '1.1.0' }, 8)
    expect((await look(id))[0]).toBe('online')
    await handle([status(id, 'SWAPPING', {}, 7)])
    expect((await look(id))[0]).toBe('online')
  })

  test('that is told in one batch with its new version is over', async () => {
    const id = await machine()
    await handle([status(id, 'RESTARTING'), item.connect(id, 8, { hello: { agentVersion: '1.1.0' } })])
    expect((await look(id))[0]).toBe('online')
  })

  test('is as good told twice as once', async () => {
    const id = await machine()
    const said = [status(id, 'DOWNLOADING'), status(id, 'UPDATE_FAILED', { reason: 'bad_hash' })]
    for (let i = 0; i < 3; i++) await handle(said)
    // The last word of an attempt is said again on the next connection.
    await handle([{ ...said[1], epoch: 8, receivedAtMs: Date.now() } as svc.v1.IUpItem])
    expect(await look(id)).toEqual(['online', 'failed', 'bad_hash'])
    expect(await events()).toEqual(['device.update_started', 'device.update_failed'])
    expect(await sql`select failures from device_updates`).toEqual([{ failures: 1 }])
  })

  test('that goes back and forth without end makes few events, the last of them what it came to', async () => {
    const id = await machine()
    const flood = Array.from({ length: 100 }, (_, n) => [
      status(id, 'DOWNLOADING', { toVersion: `2.${n}.0`, atMs: 2 * n }),
      status(id, 'UPDATE_FAILED', { toVersion: `2.${n}.0`, atMs: 2 * n + 1, reason: 'bad_hash' }),
    ])
    await handle(flood.flat())
    expect(await look(id)).toEqual(['online', 'failed', 'bad_hash'])
    const told = await sql<{ to: string }[]>`select payload->>'to' as to from outbox order by id`
    expect(told).toHaveLength(4)
    expect(told.at(-1)).toEqual({ to: '2.99.0' })
  })

  test('that came to no end within five minutes is given up; one that is going on is not', async () => {
    const [stuck, busy] = [await machine(), await machine()]
    await handle([status(stuck, 'RESTARTING'), status(busy, 'DOWNLOADING')])
    await sql`update device_updates set reported_at = now() - interval '301 seconds' where device_id = ${stuck}`
    const { pipeline } = deps.ports.config
    expect(await endStalledUpdates(db, pipeline)).toBe(1)
    expect(await endStalledUpdates(db, pipeline)).toBe(0)
    expect(await look(stuck)).toEqual(['online', 'failed', 'timed_out'])
    expect(await look(busy)).toEqual(['updating', 'downloading', null])
    expect(await events()).toEqual(['device.update_started', 'device.update_started', 'device.update_failed'])
    await handle([status(stuck, 'DONE', {}, 8)])
    expect(await look(stuck)).toEqual(['online', 'done', null])
  })

  test('of a device that is not heard of for five minutes ends with the device offline', async () => {
    const id = await machine()
    await handle([item.beat(id, 7), status(id, 'RESTARTING'), item.disconnect(id, 7)])
    const silentFor = (seconds: number) => sql`
      update device_presence set last_seen_at = now() - make_interval(secs => ${seconds}) where device_id = ${id}`
    const sweep = async (seconds: number) => {
      await silentFor(seconds)
      await sql`
        insert into edge_watermarks (shard, node, since, through) values (0, 'n1', now() - interval '1 hour', now())
        on conflict (shard, node) do update set since = excluded.since, through = excluded.through`
      await sweepDevices(db, deps.ports.config.pipeline)
      return (await look(id))[0]
    }
    expect(await sweep(240)).toBe('updating')
    expect(await sweep(330)).toBe('offline')
    await beat(id, { agentVersion: '1.1.0' }, 8)
    expect((await look(id))[0]).toBe('online')
  })

  test('of a helper does not make the device `updating`', async () => {
    const id = await machine()
    await handle([status(id, 'SWAPPING', { component: 'helper' })])
    expect(await look(id)).toEqual(['online', 'swapping', null])
  })

  test('that nobody knows, or of nobody, holds up nothing', async () => {
    const id = await machine()
    const strange = status(id, 'DONE', { component: 'kernel' })
    const nobody = status('00000000-0000-7000-8000-000000000000', 'DONE')
    await handle([
      strange,
      nobody,
      status(id, 'DONE', { phase: 99 as svc.v1.UpdatePhase }),
      status(id, 'VERIFYING', { reason: 'a\0b' }),
    ])
    expect(await look(id)).toEqual(['updating', 'verifying', 'a\ufffdb'])
  })
})
