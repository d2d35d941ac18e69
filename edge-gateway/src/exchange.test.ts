import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { svc } from '@svc/proto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ControlPlane } from '../test/control-plane.ts'
import { until } from '../test/harness.ts'
import { newDevice } from '../test/wire.ts'
import { Exchange, ExchangeDown } from './exchange.ts'
import { Counters } from './ops/counters.ts'
import { type Limits, limits as defaults } from './ops/limits.ts'

let plane: ControlPlane
const open: Exchange[] = []
beforeEach(async () => {
  plane = await new ControlPlane().start()
})
afterEach(async () => {
  for (const exchange of open.splice(0)) exchange.close()
  await plane.stop()
})

const make = (
  more: { url?: string; urls?: string[]; key?: string; taking?: () => Promise<void> } & Partial<Limits> = {},
) => {
  const taken: svc.v1.ExchangeAnswer[] = []
  const delivered: Uint8Array[] = []
  const counters = new Counters()
  const states: [up: boolean, why: string | undefined][] = []
  const { url = plane.url, urls = [url], key = plane.key, taking, ...limits } = more
  const exchange = new Exchange({
    urls,
    key,
    node: 'n1',
    version: '1',
    limits: { ...defaults, ...limits },
    counters,
    connections: () => 7,
    busAway: () => true,
    deliver: (messages) => void delivered.push(...messages),
    take: async (answer) => {
      taken.push(answer)
      await taking?.()
    },
    onState: (up, why) => void states.push([up, why?.message]),
  })
  open.push(exchange)
  return { exchange, taken, states, delivered, counters }
}

describe('the exchange', () => {
  it('renews the lease at its pace, with the cursor of the last answer', async () => {
    const { exchange } = make({ exchangeEveryMs: 20 })
    exchange.start()
    await until(() => plane.requests.length >= 3)
    const [first, second] = plane.requests
    expect(first).toMatchObject({ node: 'n1', version: '1', connections: 7, revocationsSinceMs: 0 })
    expect(second?.revocationsSinceMs).toBeGreaterThan(Date.now() - 10_000)
  })

  it('passes the oldest transaction back, never a lower one, and none to another life of the database', async () => {
    const { exchange } = make()
    for (const [xact, life] of [
      [700, 1],
      [700, 1],
      [0, 1],
      [800, 1],
      [40, 2],
      [40, 2],
    ] as const) {
      Object.assign(plane, { xact, life })
      await exchange.poll()
    }
    expect(plane.requests.map((one) => one.revocationsSinceXact)).toEqual([0, 0, 700, 700, 800, 0])
  })

  it('tells of a gap of the bus until somebody has heard of it, and not again', async () => {
    const { exchange, counters } = make()
    counters.busGaps++
    plane.away = true
    await exchange.poll()
    plane.away = false
    expect(plane.requests).toEqual([])
    await exchange.poll()
    await exchange.poll()
    counters.busGaps++
    await exchange.poll()
    expect(plane.requests.map((one) => one.busGap)).toEqual([true, false, true])
  })

  it('makes up at once for a poll that was missed, because what came of the one before took so long', async () => {
    const stamps: number[] = []
    const { exchange } = make({
      exchangeEveryMs: 300,
      taking: async () => {
        stamps.push(performance.now())
        if (stamps.length === 1) await sleep(350)
      },
    })
    exchange.start()
    await until(() => stamps.length === 2)
    expect((stamps[1] ?? 0) - (stamps[0] ?? 0)).toBeLessThan(500) // and not 600, when the next one is due
  })

  it('asks another control plane where one is away, at once, and stays with it', async () => {
    const other = await new ControlPlane().start()
    try {
      const { exchange, states } = make({ urls: ['http://127.0.0.1:1/x', plane.url, other.url] })
      await exchange.poll()
      await exchange.poll()
      expect([plane.requests.length, other.requests.length]).toEqual([2, 0])
      plane.away = true
      await exchange.ask({ deviceId: newDevice().id })
      expect(other.requests.length).toBe(1)
      expect(states).toEqual([[true, undefined]])
      other.away = true
      await expect(exchange.ask({ deviceId: newDevice().id })).rejects.toThrow(ExchangeDown)
      plane.away = false
      await exchange.poll()
      expect(exchange.up).toBe(true)
    } finally {
      await other.stop()
    }
  })

  it('asks for everybody of one moment at once, and for each only once', async () => {
    const { exchange } = make()
    const devices = [newDevice(), newDevice(), newDevice()]
    await Promise.all([...devices, ...devices].map(({ id }) => exchange.ask({ deviceId: id })))
    expect(plane.requests.map(({ admissions }) => admissions.length)).toEqual([3])
  })

  it('has one call under way at a time; questions that come meanwhile go in the next', async () => {
    const { exchange } = make()
    const first = exchange.ask({ deviceId: newDevice().id })
    await until(() => plane.requests.length === 1)
    await Promise.all([
      first,
      exchange.ask({ deviceId: newDevice().id }),
      exchange.ask({ deviceId: newDevice().id }),
    ])
    expect(plane.requests.map(({ admissions }) => admissions.length)).toEqual([1, 2])
  })

  it('answers a question that comes in the very turn in which a call ends', async () => {
    const { exchange } = make()
    // However many steps after the answer it comes: nothing polls here, so one that is missed is never answered.
    for (let steps = 0; steps < 20; steps++) {
      await exchange.ask({ deviceId: newDevice().id })
      for (let n = 0; n < steps; n++) await Promise.resolve()
      await exchange.ask({ deviceId: newDevice().id })
    }
    expect(plane.requests.flatMap(({ admissions }) => admissions)).toHaveLength(40)
  })

  it('keeps to its batch size', async () => {
    const { exchange } = make()
    await Promise.all(Array.from({ length: 1_200 }, () => exchange.ask({ deviceId: newDevice().id })))
    expect(plane.requests.map(({ admissions }) => admissions.length)).toEqual([500, 500, 200])
  })

  it('fails those who asked when there is no answer, and says once that it is away', async () => {
    const { exchange, states } = make({ exchangeEveryMs: 20 })
    plane.away = true
    exchange.start()
    await expect(exchange.ask({ deviceId: newDevice().id })).rejects.toThrow(ExchangeDown)
    await exchange.poll()
    plane.away = false
    await until(() => exchange.up)
    expect(states.map(([up]) => up)).toEqual([false, true])
  })

  it('names the variable when the key is not the control plane’s', async () => {
    const { exchange, states } = make({ key: 'x'.repeat(32) })
    await exchange.poll()
    expect(states[0]?.[1]).toContain('EDGE_SHARED_KEY')
  })

  it('does not wait for a control plane that hangs', async () => {
    const server = createServer(() => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { exchange } = make({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`,
      exchangeWithinMs: 50,
    })
    const started = performance.now()
    await expect(exchange.ask({ deviceId: newDevice().id })).rejects.toThrow(ExchangeDown)
    expect(performance.now() - started).toBeLessThan(2_500)
    server.closeAllConnections()
    server.close()
  })

  it('takes nothing from an answer that is no answer', async () => {
    const server = createServer((_request, response) => response.end(Buffer.from([0x0a, 0xff])))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { exchange, taken } = make({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x` })
    await exchange.poll()
    expect([taken, exchange.up]).toEqual([[], false])
    server.closeAllConnections()
    server.close()
  })
})

const bytes = (size: number, value = 1) => new Uint8Array(size).fill(value)
const loads = () =>
  plane.requests.filter(({ up }) => up.length > 0).map(({ up }) => up.map(({ shard }) => shard))

describe('what is carried up', () => {
  it('goes together where it comes together, at once, and asks for nothing else', async () => {
    const { exchange, counters } = make()
    await Promise.all([exchange.carry(3, bytes(10), 2), exchange.carry(1, bytes(10), 5)])
    expect(loads()).toEqual([[3, 1]])
    expect(plane.requests).toMatchObject([{ node: 'n1', upAlone: true, busAway: true, admissions: [] }])
    expect([counters.carriedBatches, counters.carriedItems]).toEqual([2, 7])
  })

  it('keeps its order and its size; one that is larger goes alone', async () => {
    const { exchange } = make({ maxCarriedBytes: 100 })
    const sizes = [60, 40, 1, 500, 99]
    await Promise.all(sizes.map((size, shard) => exchange.carry(shard, bytes(size), 1)))
    expect(loads()).toEqual([[0, 1], [2], [3], [4]])
  })

  it('has one load under way at a time, and keeps no question waiting', async () => {
    const { exchange } = make()
    let release = () => {}
    plane.hold = new Promise((resolve) => {
      release = resolve
    })
    const first = exchange.carry(0, bytes(1), 1)
    await until(() => plane.requests.length === 1)
    const second = exchange.carry(0, bytes(1), 1)
    await exchange.ask({ deviceId: newDevice().id })
    expect(loads()).toEqual([[0]])
    release()
    await Promise.all([first, second])
    expect(loads()).toEqual([[0], [0]])
  })

  it('is not accepted by a control plane that does not say so', async () => {
    const { exchange, counters } = make()
    plane.takesUp = false
    await expect(exchange.carry(0, bytes(1), 1)).rejects.toThrow(ExchangeDown)
    expect([counters.carriedBatches, counters.carryFailures]).toEqual([0, 1])
  })

  it('goes again when it failed, which concerns nobody else', async () => {
    const { exchange, states } = make()
    await exchange.poll()
    plane.refusesUp = true
    await expect(exchange.carry(0, bytes(1), 1)).rejects.toThrow(ExchangeDown)
    await exchange.poll()
    expect(states.map(([up]) => up)).toEqual([true])
    plane.refusesUp = false
    await exchange.carry(0, bytes(1), 1)
  })

  it('carries on with what comes in the very turn in which a call ends', async () => {
    const { exchange } = make()
    for (let steps = 0; steps < 20; steps++) {
      await exchange.carry(0, bytes(1), 1)
      for (let n = 0; n < steps; n++) await Promise.resolve()
      await exchange.carry(1, bytes(1), 1)
    }
    expect(loads()).toHaveLength(40)
  })

  it('brings down what the answer holds, in order', async () => {
    const { exchange, delivered } = make()
    plane.messages.push(bytes(1, 1), bytes(1, 2), bytes(1, 3))
    await exchange.carry(0, bytes(1), 1)
    expect(delivered.map(([value]) => value)).toEqual([1, 2, 3])
  })

  it('is not left waiting by a gateway that closes', async () => {
    const { exchange } = make()
    plane.hold = new Promise(() => {})
    const [first, second] = [exchange.carry(0, bytes(1), 1), exchange.carry(0, bytes(1), 1)]
    const ended = Promise.allSettled([first, second])
    await until(() => plane.requests.length === 1)
    const third = exchange.carry(0, bytes(1), 1)
    exchange.close()
    await expect(third).rejects.toThrow(ExchangeDown)
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })
})
