import fc from 'fast-check'
import { svc } from '@svc/proto'
import { shardCount } from '@svc/proto/bus'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readUp, SwitchedBus, until } from '../../test/harness.ts'
import { newDevice } from '../../test/wire.ts'
import { Counters } from '../ops/counters.ts'
import { limits as defaults, type Limits } from '../ops/limits.ts'
import { itemOf } from './items.ts'
import { Queue } from './queue.ts'
import { streams } from './carrier.ts'
import { Uplink } from './uplink.ts'

let bus: SwitchedBus
let counters: Counters
let read: () => Promise<svc.v1.UpBatch[]>
const open: Uplink[] = []

const uplink = (limits: Partial<Limits> = {}, nowMs = Date.now) => {
  const made = new Uplink({
    carrier: streams(bus),
    node: 'n1',
    limits: { ...defaults, flushEveryMs: 10, retryAppendMs: 5, maxRetryAppendMs: 20, ...limits },
    counters,
    nowMs,
    failed: (error) => {
      throw error
    },
  })
  open.push(made)
  return made
}

beforeEach(() => {
  bus = new SwitchedBus()
  counters = new Counters()
  read = readUp(bus)
})
afterEach(() => {
  for (const made of open.splice(0)) made.close()
})

const items = async (): Promise<svc.v1.IUpItem[]> => (await read()).flatMap((batch) => batch.items)
/** Each shard says one when it begins: what is pushed by then would go with it. */
async function firstWatermarks(): Promise<void> {
  let shards = 0
  await until(async () => (shards += (await read()).length) >= shardCount)
}
const result = (n: number) => ({ commandResult: { commandId: String(n) } })

describe('the uplink', () => {
  it('keeps the heartbeats of agent and watchdog apart, and counts connects that one stands for', async () => {
    const up = uplink({ flushEveryMs: 60_000 })
    const { id } = newDevice(3)
    const { CONNECTED, DISCONNECTED } = svc.v1.SessionEvent.Kind
    for (const epoch of [1, 2, 3]) {
      up.push(id, epoch, { session: { kind: CONNECTED } }, 10)
      up.push(id, epoch, { session: { kind: DISCONNECTED } }, 10)
    }
    up.push(id, 4, { session: { kind: CONNECTED } }, 10)
    up.push(id, 4, { session: { kind: CONNECTED, hello: { agentVersion: '1' } } }, 10)
    up.push(id, 4, { heartbeat: { uptimeSeconds: 1 } }, 10)
    up.push(id, 4, { heartbeat: { role: svc.v1.AgentRole.WATCHDOG } }, 10)
    await up.flush(1000)
    const said = await items()
    expect(said.map(({ epoch, session, heartbeat }) => [epoch, session?.connects, heartbeat?.role])).toEqual([
      [3, 0, undefined],
      [4, 4, undefined],
      [4, undefined, svc.v1.AgentRole.AGENT],
      [4, undefined, svc.v1.AgentRole.WATCHDOG],
    ])
  })

  it('lets the last heartbeat of a device win and keeps the order of the rest', async () => {
    const up = uplink({ flushEveryMs: 60_000 })
    const { id } = newDevice(3)
    up.push(id, 1, { heartbeat: { uptimeSeconds: 1 } }, 10)
    up.push(id, 1, { inventory: { collectedAtMs: 5 } }, 10)
    up.push(id, 1, { heartbeat: { uptimeSeconds: 2 } }, 10)
    up.push(id, 1, { session: { reason: svc.v1.CloseReason.PEER_CLOSED } }, 10)
    await up.flush(1000)
    const kinds = (await items()).map(
      (item) => item.heartbeat?.uptimeSeconds ?? (item.inventory ? 'inventory' : 'session'),
    )
    expect(kinds).toEqual(['inventory', 2, 'session'])
  })

  it('sends results long before the next batch is due', async () => {
    const up = uplink({ flushEveryMs: 60_000 })
    up.push(newDevice(4).id, 1, result(1), 10)
    const started = performance.now()
    await until(async () => (await items()).length === 1)
    expect(performance.now() - started).toBeLessThan(4_000)
  })

  it('a result waits for nothing, and what was said in the same turn goes with it, in order', async () => {
    const up = uplink({ flushEveryMs: 60_000, urgentWithinMs: 60_000 })
    await firstWatermarks()
    const { id } = newDevice(4)
    up.push(id, 1, { commandAck: { commandId: '1' } }, 10)
    up.push(id, 1, result(1), 10)
    const seen: svc.v1.UpBatch[] = []
    await until(async () => seen.push(...(await read()).filter((batch) => batch.items.length > 0)) > 0)
    expect(seen.map(({ items }) => items.map(({ commandAck }) => Boolean(commandAck)))).toEqual([
      [true, false],
    ])
  })

  it('an ack waits a moment for its result', async () => {
    const up = uplink({ flushEveryMs: 60_000, urgentWithinMs: 50 })
    await firstWatermarks()
    const pushed = performance.now()
    up.push(newDevice(4).id, 1, { commandAck: { commandId: '1' } }, 10)
    await until(async () => (await items()).length === 1)
    expect(performance.now() - pushed).toBeGreaterThan(45)
  })

  describe('a heartbeat alone', () => {
    const beat = { heartbeat: { uptimeSeconds: 1 } }
    const within = async (act: (up: Uplink, id: string) => void): Promise<number> => {
      const up = uplink({ flushEveryMs: 10, heartbeatsEveryMs: 400 })
      await firstWatermarks()
      const began = performance.now()
      act(up, newDevice(4).id)
      await until(async () => (await items()).length > 0)
      return performance.now() - began
    }

    it('waits for company', async () => {
      expect(await within((up, id) => up.push(id, 1, beat, 10))).toBeGreaterThan(300)
    })

    it.each<[string, (up: Uplink, id: string) => unknown]>([
      ['that somebody waits for', (up, id) => up.push(id, 1, beat, 10, () => {})],
      [
        'with a connect',
        (up, id) => up.push(id, 1, beat, 10) && up.push(id, 1, { session: { hello: {} } }, 10),
      ],
      ['when everything is to go', (up, id) => up.push(id, 1, beat, 10) && up.flush(1_000)],
    ])('%s does not', async (_, act) => {
      expect(await within((up, id) => void act(up, id))).toBeLessThan(300)
    })
  })

  it('tells every shard how far it has come, even when there is nothing to say', async () => {
    uplink({ watermarkEveryMs: 30 })
    const seen = new Map<number, number>()
    await until(async () => {
      const batches = await read()
      batches.forEach((batch, i) => seen.set(i, batch.completeThroughMs))
      return seen.size === 16
    })
    expect(Math.min(...seen.values())).toBeGreaterThan(Date.now() - 1_000)
  })

  it('splits by items and by bytes, and promises completeness only with the last part', async () => {
    let now = 1_000
    const up = uplink({ flushEveryMs: 60_000, maxBatchItems: 1_000, maxBatchBytes: 4_000 }, () => now)
    const { id } = newDevice(5)
    for (let n = 0; n < 10; n++) up.push(id, 1, { inventory: { collectedAtMs: n } }, 1_000)
    now = 9_000
    await up.flush(1000)
    const batches = (await read()).filter((batch) => batch.items.length > 0)
    expect(batches.map((batch) => batch.items.length)).toEqual([3, 3, 3, 1])
    expect(batches.map((batch) => batch.completeThroughMs)).toEqual([1_000, 1_000, 1_000, 9_000])
  })

  it('a full stream and an absent bus lose nothing and change no order', async () => {
    const up = uplink()
    const { id } = newDevice(6)
    bus.switch(false)
    for (let n = 0; n < 3; n++) up.push(id, 1, result(n), 10)
    await up.flush(30)
    bus.full = true
    bus.switch(true)
    for (let n = 3; n < 6; n++) up.push(id, 1, result(n), 10)
    await up.flush(30)
    expect(await items()).toEqual([])
    bus.full = false
    expect(await up.flush(1000)).toBe(true)
    expect((await items()).map((item) => item.commandResult?.commandId)).toEqual([
      '0',
      '1',
      '2',
      '3',
      '4',
      '5',
    ])
    expect(counters.appendFailures).toBeGreaterThan(0)
    expect(counters.dropped).toEqual({})
  })

  it('tries again and keeps its watermark also when the clock is set back', async () => {
    let now = Date.now()
    const up = uplink({ flushEveryMs: 10, watermarkEveryMs: 50, retryAppendMs: 20 }, () => now)
    bus.full = true
    up.push(newDevice(7).id, 1, result(1), 10)
    await until(async () => counters.appendFailures > 0)
    now -= 3_600_000
    bus.full = false
    await until(async () => (await items()).length === 1)
    const before = counters.batches
    await until(async () => counters.batches >= before + 32) // twice round all shards
  })

  it('does not promise what was not accepted', async () => {
    let now = 1_000
    const up = uplink({ flushEveryMs: 60_000, watermarkEveryMs: 0 }, () => now)
    await up.flush(100)
    await read()
    bus.full = true
    up.push(newDevice(7).id, 1, result(1), 10)
    now = 5_000
    await up.flush(30)
    expect((await read()).every((batch) => batch.completeThroughMs < 5_000)).toBe(true)
  })

  it('holds one heartbeat of each device and a bounded rest, and counts what it does not accept', async () => {
    const up = uplink({ maxHeldItems: 5 })
    bus.switch(false)
    const { id } = newDevice(8)
    for (let n = 0; n < 5_000; n++) up.push(id, 1, { heartbeat: { uptimeSeconds: n } }, 20)
    const accepted = Array.from({ length: 9 }, (_, n) => up.push(id, 1, result(n), 10))
    expect(accepted).toEqual([true, true, true, true, true, false, false, false, false])
    expect(up.push(id, 1, { heartbeat: { uptimeSeconds: 9_999 } }, 20)).toBe(true)
    expect(counters.dropped).toEqual({ up_refused_result: 4 })
    expect(up.stats()).toMatchObject({ items: 6 })
    bus.switch(true)
    await until(async () => up.stats().items === 0)
    expect(
      (await items()).filter((item) => item.heartbeat).map((item) => item.heartbeat?.uptimeSeconds),
    ).toEqual([9_999])
  })

  it('bounds the bytes it holds', () => {
    const up = uplink({ maxHeldBytes: 2_500 })
    bus.switch(false)
    const { id } = newDevice(9)
    expect([1, 2, 3].map((n) => up.push(id, 1, result(n), 1_000))).toEqual([true, true, false])
  })
})

describe('who waits for what was said', () => {
  /** Somebody who waits, and what he was told. */
  const waiter = () => {
    const told: boolean[] = []
    return { told, taken: (accepted: boolean) => void told.push(accepted) }
  }

  it('is told when it stands in the stream, not before, and once', async () => {
    const up = uplink({ flushEveryMs: 60_000 })
    const [first, second] = [waiter(), waiter()]
    const { id } = newDevice(1)
    bus.full = true
    up.push(id, 1, result(1), 10, first.taken)
    up.push(id, 1, { heartbeat: {} }, 10, second.taken)
    await up.flush(50)
    expect([first.told, second.told]).toEqual([[], []])
    bus.full = false
    await up.flush(1000)
    expect([first.told, second.told]).toEqual([[true], [true]])
    await up.flush(50)
    expect(first.told).toEqual([true])
  })

  it('for a heartbeat that was replaced is told with the one that replaced it', async () => {
    const up = uplink({ flushEveryMs: 60_000 })
    const { id } = newDevice(2)
    const waiters = Array.from({ length: 3 }, () => waiter())
    bus.switch(false)
    for (const { taken } of waiters) up.push(id, 1, { heartbeat: {} }, 10, taken)
    expect(up.stats().items).toBe(1)
    bus.switch(true)
    await until(async () => up.stats().items === 0)
    await until(() => waiters.every(({ told }) => told.length > 0))
    expect(waiters.map(({ told }) => told)).toEqual([[true], [true], [true]])
  })

  it('for what is not accepted is told so at once, and what is already held is not', async () => {
    const up = uplink({ maxHeldItems: 1 })
    bus.switch(false)
    const { id } = newDevice(3)
    const [held, refused] = [waiter(), waiter()]
    up.push(id, 1, result(1), 10, held.taken)
    up.push(id, 1, result(2), 10, refused.taken)
    expect([held.told, refused.told]).toEqual([[], [false]])
  })
})

describe('the queue', () => {
  it('holds for any history what a plain list with the last of each kind would', () => {
    const entry = fc.record({
      device: fc.integer({ min: 0, max: 3 }),
      kind: fc.constantFrom('heartbeat', 'result'),
    })
    const steps = fc.array(fc.oneof(entry, fc.constant('retry' as const)), { maxLength: 60 })
    fc.assert(
      fc.property(steps, (history) => {
        const queue = new Queue()
        let model: { device: string; kind: string; n: number }[] = []
        history.forEach((act, n) => {
          if (act === 'retry') return queue.putBack(queue.take({ ...defaults, maxBatchItems: 3 }))
          const device = String(act.device)
          const body = act.kind === 'heartbeat' ? { heartbeat: { uptimeSeconds: n } } : result(n)
          queue.push(itemOf(device, 1, body, 10, n))
          if (act.kind === 'heartbeat')
            model = model.filter((old) => old.device !== device || old.kind !== 'heartbeat')
          model.push({ device, kind: act.kind, n })
        })
        expect(queue.size).toBe(model.length)
        const taken = queue.take({ ...defaults, maxBatchItems: 1_000 })
        expect(taken.map(({ item }) => item.receivedAtMs)).toEqual(model.map(({ n }) => n))
        expect([queue.size, queue.bytes, queue.heldItems, queue.heldBytes]).toEqual([0, 0, 0, 0])
      }),
    )
  })
})
