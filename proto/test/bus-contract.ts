import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Bus, type Consumer, maxEntries, StreamFull } from '../src/bus/index.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (payload: Uint8Array) => new TextDecoder().decode(payload)
const texts = async (consumer: Consumer, count = 100) =>
  (await consumer.read({ count, blockMs: 200 })).map((entry) => text(entry.payload))

/** What every carrier promises. `open` gives a bus that is up, on a carrier that the buses of one test share. */
export const busContract = (name: string, open: () => Promise<Bus>) => {
  describe(name, () => {
    let bus: Bus
    let stream = ''
    let run = 0
    beforeEach(async () => {
      bus = await open()
      stream = `up:test:${process.pid}:${Date.now()}:${run++}`
    })
    afterEach(() => bus.close())

    test('a published message reaches every subscriber of its channel, in order, and nobody else', async () => {
      const [a, b, other]: [string[], string[], string[]] = [[], [], []]
      await bus.subscribe(`${stream}:x`, (payload) => a.push(text(payload)))
      await bus.subscribe(`${stream}:x`, (payload) => b.push(text(payload)))
      await bus.subscribe(`${stream}:y`, (payload) => other.push(text(payload)))
      for (const word of ['one', 'two', 'three']) await bus.publish(`${stream}:x`, bytes(word))
      await expect.poll(() => b).toEqual(['one', 'two', 'three'])
      expect(a).toEqual(b)
      expect(other).toEqual([])
    })

    test('binary payloads arrive byte for byte', async () => {
      const seen: Uint8Array[] = []
      await bus.subscribe(`${stream}:x`, (payload) => seen.push(payload))
      const payload = Uint8Array.from({ length: 256 }, (_, i) => i)
      await bus.publish(`${stream}:x`, payload)
      await bus.append(stream, payload)
      await expect.poll(() => seen.length).toBe(1)
      expect([...seen[0]!]).toEqual([...payload])
      const [entry] = await bus.consumer(stream, 'g', 'a').read({ count: 1, blockMs: 200 })
      expect([...entry!.payload]).toEqual([...payload])
    })

    test('a subscriber that left hears nothing more', async () => {
      const seen: string[] = []
      const leave = await bus.subscribe(`${stream}:x`, (payload) => seen.push(text(payload)))
      await bus.publish(`${stream}:x`, bytes('before'))
      await expect.poll(() => seen).toEqual(['before'])
      leave()
      await bus.publish(`${stream}:x`, bytes('after'))
      await sleep(50)
      expect(seen).toEqual(['before'])
    })

    test('a group made late reads from the oldest entry on', async () => {
      await bus.append(stream, bytes('one'))
      await bus.append(stream, bytes('two'))
      expect(await texts(bus.consumer(stream, 'g', 'a'))).toEqual(['one', 'two'])
    })

    test('a waiting read returns as soon as something is appended', async () => {
      const consumer = bus.consumer(stream, 'g', 'a')
      const reading = consumer.read({ count: 10, blockMs: 5000 })
      await sleep(50)
      const before = performance.now()
      await bus.append(stream, bytes('one'))
      expect((await reading).map((entry) => text(entry.payload))).toEqual(['one'])
      expect(performance.now() - before).toBeLessThan(4000)
    })

    test('a waiting read comes back empty when nothing arrives', async () => {
      expect(await bus.consumer(stream, 'g', 'a').read({ count: 10, blockMs: 50 })).toEqual([])
    })

    test('unacknowledged entries come first after a restart under the same name, then new ones', async () => {
      await bus.append(stream, bytes('one'))
      await bus.append(stream, bytes('two'))
      const first = bus.consumer(stream, 'g', 'a')
      const [one] = await first.read({ count: 1, blockMs: 200 })
      await first.close()
      const again = bus.consumer(stream, 'g', 'a')
      expect(await texts(again)).toEqual(['one'])
      expect(await texts(again)).toEqual(['two'])
      await again.ack([one!.id])
      again.rewind()
      expect(await texts(again)).toEqual(['two'])
    })

    test('a new owner takes over what a dead consumer left, in order', async () => {
      for (const word of ['one', 'two', 'three']) await bus.append(stream, bytes(word))
      const dead = bus.consumer(stream, 'g', 'dead')
      await dead.read({ count: 2, blockMs: 200 })
      await dead.close()
      const owner = bus.consumer(stream, 'g', 'owner')
      await owner.claimAbandoned()
      expect(await texts(owner)).toEqual(['one', 'two'])
      expect(await texts(owner)).toEqual(['three'])
    })

    test('acknowledged entries are gone and make room; others stay', async () => {
      for (const word of ['one', 'two', 'three', 'four']) await bus.append(stream, bytes(word))
      const consumer = bus.consumer(stream, 'g', 'a')
      const [one, two, three] = await consumer.read({ count: 3, blockMs: 200 })
      await consumer.ack([two!.id, three!.id])
      consumer.rewind()
      expect(await texts(consumer)).toEqual(['one'])
      await consumer.ack([one!.id])
      expect(await texts(consumer)).toEqual(['four'])
    })

    test('a full stream pushes back, and takes more once entries are acknowledged', async () => {
      const payload = bytes('x')
      for (let i = 0; i < maxEntries; i += 1000) {
        await Promise.all(Array.from({ length: 1000 }, () => bus.append(stream, payload)))
      }
      await expect(bus.append(stream, payload)).rejects.toBeInstanceOf(StreamFull)
      const consumer = bus.consumer(stream, 'g', 'a')
      const entries = await consumer.read({ count: 5000, blockMs: 200 })
      await consumer.ack(entries.map((entry) => entry.id))
      await bus.append(stream, payload)
    })

    test('closing ends a waiting read', async () => {
      const consumer = bus.consumer(stream, 'g', 'a')
      const reading = consumer.read({ count: 10, blockMs: 5000 })
      await sleep(50)
      await consumer.close()
      expect(await Promise.race([reading, sleep(2000)])).toEqual([])
    })
  })
}
