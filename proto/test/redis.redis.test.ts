import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { Redis as Client } from 'ioredis'
import { type Redis, startRedis } from '../../tools/services.ts'
import { type Bus, BusDown, RedisBus } from '../src/bus/index.ts'
import { busContract } from './bus-contract.ts'

const isUp = (bus: Bus) => expect.poll(() => bus.up).toBe(true)
const open = async (url: string) => {
  const bus = new RedisBus(url)
  await isUp(bus)
  return bus
}
const bytes = (text: string) => new TextEncoder().encode(text)

busContract('the bus over Redis', () => open(inject('redisUrl')))

describe('the bus over a Redis that fails', () => {
  let redis: Redis
  let dir: string
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'svc-bus-'))
  })
  afterAll(() => rm(dir, { recursive: true, force: true }))
  beforeEach(async () => {
    redis = await startRedis({ dir })
  })
  afterEach(() => redis.stop())

  test('a killed server: appends are refused, publishing reaches nobody, `up` says so; back and empty, everything works again', async () => {
    const bus = await open(redis.url)
    const heard: string[] = []
    await bus.subscribe('news', (payload) => heard.push(Buffer.from(payload).toString()))
    const consumer = bus.consumer('up:0', 'g', 'a')
    await bus.append('up:0', bytes('lost'))
    await consumer.read({ count: 1, blockMs: 100 })

    await redis.kill()
    await expect.poll(() => bus.up).toBe(false)
    await expect(bus.append('up:0', bytes('x'))).rejects.toBeInstanceOf(BusDown)
    expect(await bus.publish('news', bytes('x'))).toBe(0)
    await expect(consumer.read({ count: 1, blockMs: 100 })).rejects.toBeInstanceOf(BusDown)

    redis = await startRedis({ dir, port: redis.port, password: redis.password })
    await isUp(bus)
    await expect.poll(() => bus.publish('news', bytes('back'))).toBe(1)
    await expect.poll(() => heard).toEqual(['back'])
    await bus.append('up:0', bytes('first'))
    await expect
      .poll(async () => (await consumer.read({ count: 1, blockMs: 100 }).catch(() => [])).length, {
        timeout: 10_000,
      })
      .toBe(1)
    await bus.close()
  })

  test('a hung server counts as away, and as back once it answers', async () => {
    const bus = await open(redis.url)
    const consumer = bus.consumer('up:0', 'g', 'a')
    process.kill(redis.pid, 'SIGSTOP')
    try {
      await expect.poll(() => bus.up).toBe(false)
      await expect(bus.append('up:0', bytes('x'))).rejects.toBeInstanceOf(BusDown)
      await expect(consumer.read({ count: 1, blockMs: 100 })).rejects.toBeInstanceOf(BusDown)
    } finally {
      process.kill(redis.pid, 'SIGCONT')
    }
    await isUp(bus)
    await bus.append('up:0', bytes('y'))
    await expect
      .poll(async () => (await consumer.read({ count: 1, blockMs: 100 }).catch(() => [])).length, {
        timeout: 10_000,
      })
      .toBe(1)
    await bus.close()
  })

  test('a bus that does not hear is not up: the first thing that is said to one that is up again arrives', async () => {
    const bus = await open(redis.url)
    const heard: string[] = []
    await bus.subscribe('news', (payload) => heard.push(Buffer.from(payload).toString()))
    const other = new Client(redis.url)
    const states: boolean[] = []
    bus.onState((up) => {
      states.push(up)
      if (up) void other.publish('news', `${states.length}`)
    })
    await other.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    await expect.poll(() => states).toEqual([true, false, true])
    await expect.poll(() => heard.at(-1)).toBe('3')
    other.disconnect()
    await bus.close()
  })

  test('what was given up while the server was away is not asked when it is back', async () => {
    const bus = await open(redis.url)
    const consumer = bus.consumer('up:0', 'g', 'a')
    await redis.kill()
    await expect.poll(() => bus.up).toBe(false)
    const given = [1, 2].map(() => consumer.read({ count: 1, blockMs: 100 }))
    for (const read of given) await expect(read).rejects.toBeInstanceOf(BusDown)

    redis = await startRedis({ dir, port: redis.port, password: redis.password })
    await isUp(bus)
    await bus.append('up:0', bytes('first'))
    const entries = () => consumer.read({ count: 1, blockMs: 100 }).catch(() => [])
    await expect.poll(async () => (await entries()).length).toBe(1)
    const asked = new Client(redis.url)
    const stats = await asked.info('commandstats')
    asked.disconnect()
    // Each read is one question, or three where it has to make the group first; a stray one would come before all of them.
    const calls = Number(/cmdstat_xreadgroup:calls=(\d+)/.exec(stats)?.[1])
    const groups = Number(/cmdstat_xgroup\|create:calls=(\d+)/.exec(stats)?.[1])
    expect([groups, calls]).toEqual([1, 3])
    await bus.close()
  })
})
