import { randomBytes } from 'node:crypto'
import { decodeEnvelope, svc } from '@svc/proto'
import { afterEach, describe, expect, it } from 'vitest'
import { pause, until } from '../harness.ts'
import { connect, dialSocket } from '../wire.ts'
import {
  connectPacket,
  disconnect,
  down,
  openRaw,
  pingreq,
  type RawClient,
  subscribePacket,
} from './client.ts'
import { heard, Place, type PlaceOptions, saying, welcomed } from './place.ts'

let place: Place
afterEach(() => place.close())
const open = async (options: PlaceOptions = {}) => {
  place = await Place.open(options)
  return place.world
}

const commandId = '018f0000-0000-7000-8000-0000000000aa'
const result = { commandResult: { commandId } }

/** The numbers of the next acknowledgements, among whatever else comes. */
const acknowledged = async (client: RawClient, count: number): Promise<number[]> => {
  const ids: number[] = []
  while (ids.length < count) {
    const packet = await client.next()
    if (!packet) throw new Error(`ended after ${ids.length} of ${count}`)
    if (packet.head === 0x40) ids.push(packet.body.readUInt16BE())
  }
  return ids
}

describe('an acknowledgement', () => {
  it('comes when what was said stands in the up-stream, and not before', async () => {
    const world = await open()
    const device = world.device()
    const { client } = await welcomed(place.tcp, device)
    world.bus.full = true
    client.say(saying(device, result, { qos: 1, id: 4 }))
    const next = client.next()
    expect(await Promise.race([next, pause(200)])).toBeUndefined()
    world.bus.full = false
    expect(await next).toEqual({ head: 0x40, body: Buffer.from([0, 4]) })
    expect((await world.upOf(device)).some((item) => item.commandResult)).toBe(true)
  })

  it('comes in the order of what it is for, replaced heartbeats among it', async () => {
    const world = await open()
    const device = world.device()
    const { client } = await welcomed(place.websocket, device)
    const bodies = [{ heartbeat: {} }, result, { heartbeat: {} }, { inventory: {} }, result]
    client.say(...bodies.map((body, n) => saying(device, body, { qos: 1, id: 10 + n })))
    expect(await acknowledged(client, 5)).toEqual([10, 11, 12, 13, 14])
  })

  it('does not come for QoS 0', async () => {
    const world = await open()
    const device = world.device()
    const { client } = await welcomed(place.tcp, device)
    client.say(saying(device, result), saying(device, result, { qos: 1, id: 1 }))
    expect(await acknowledged(client, 1)).toEqual([1])
    expect((await world.upOf(device)).filter((item) => item.commandResult)).toHaveLength(2)
  })

  it('that cannot be given ends the connection, so that it is said again', async () => {
    const world = await open({ limits: { maxHeldItems: 0 } })
    const device = world.device()
    const { client } = await welcomed(place.tcp, device)
    client.say(saying(device, result, { qos: 1, id: 4 }))
    await client.closed
    const { refused } = decodeEnvelope(await client.delivered(down(device)))
    expect(refused?.reason).toBe(svc.v1.CloseReason.UNAVAILABLE) // and no acknowledgement
    expect(await client.next()).toBeUndefined()
    expect(place.closed).toEqual({ UNAVAILABLE: 1 })
  })

  it('that waits for long keeps nobody from being read, up to a bound', async () => {
    const world = await open({ limits: { maxUnacknowledged: 8 } })
    const device = world.device()
    const { client } = await welcomed(place.tcp, device)
    world.bus.full = true
    for (let id = 1; id <= 8; id++) client.say(saying(device, result, { qos: 1, id }))
    client.say(pingreq)
    expect(await client.expect(13)).toBeTruthy()
    for (let id = 9; id <= 600; id++) client.say(saying(device, result, { qos: 1, id }))
    await pause(150)
    expect(place.gateway.stats().uplink.items).toBeLessThan(400)
    world.bus.full = false
    expect(await acknowledged(client, 600)).toEqual(Array.from({ length: 600 }, (_, n) => n + 1))
  })
})

describe('silence', () => {
  it.each([
    ['no keep-alive', 0],
    ['the longest', 65_535],
  ])('is not broken by pings: %s', async (_what, keepalive) => {
    const world = await open()
    const device = world.device({ heartbeatIntervalMs: 200 })
    const client = await openRaw(place.tcp)
    client.say(connectPacket(device, { keepalive }))
    expect(await client.connack()).toBe(0)
    const pinging = setInterval(() => client.say(pingreq), 50)
    await client.closed
    clearInterval(pinging)
    expect(place.closed).toEqual({ KEEPALIVE_TIMEOUT: 1 })
  })

  it('beyond what the client itself announced ends the connection', async () => {
    const world = await open()
    const device = world.device()
    const client = await openRaw(place.tcp)
    client.say(connectPacket(device, { keepalive: 1 }))
    expect(await client.connack()).toBe(0)
    await client.closed
    expect(place.closed).toEqual({ KEEPALIVE_TIMEOUT: 1 })
  })
})

describe('the last words', () => {
  it.each(['tcp', 'websocket'] as const)(
    'count, although the end comes behind them, over %s',
    async (way) => {
      const world = await open({ limits: { maxUnacknowledged: 8 } })
      const device = world.device()
      const { client } = await welcomed(place[way], device)
      world.bus.full = true
      const results = Array.from({ length: 300 }, (_, n) => saying(device, result, { qos: 1, id: n + 1 }))
      client.say(...results, saying(device, { goodbye: { reason: 1 } }))
      client.stream.end(disconnect)
      await pause(100)
      world.bus.full = false
      await until(async () => (await world.upOf(device)).at(-1)?.session?.reason === 1)
      expect((await world.upOf(device)).filter((item) => item.commandResult)).toHaveLength(300)
      expect(place.closed).toEqual({ SHUTDOWN: 1 })
    },
  )
})

describe('a slow reader', () => {
  const large = { command: { body: randomBytes(100_000) } }

  it.each(['tcp', 'websocket', 'tls'] as const)(
    'costs no more than its backlog, then goes, over %s',
    async (way) => {
      const world = await open({ tls: way === 'tls' })
      const device = world.device()
      const { client } = await welcomed(place[way], device)
      client.stream.pause()
      for (let n = 0; n < 400 && place.gateway.stats().residents > 0; n++) await place.deliver(device, large)
      await until(() => place.gateway.stats().residents === 0)
      expect(place.closed).toEqual({ BACKPRESSURE: 1 })
      // Over TLS each frame waits for a moment.
      if (way !== 'tls') expect(place.gateway.stats().counters.framesQueued).toBeLessThanOrEqual(11)
      client.stream.destroy()
    },
  )

  it('that has not subscribed is held up to the same bounds', async () => {
    const world = await open({ limits: { maxBacklogFrames: 5 } })
    const device = world.device()
    const client = await openRaw(place.tcp)
    client.say(connectPacket(device))
    await client.connack()
    for (let n = 0; n < 5; n++) await place.deliver(device, { resultAck: { commandId } })
    await client.closed
    expect(place.closed).toEqual({ BACKPRESSURE: 1 })
  })

  it('that catches up in time gets everything', async () => {
    const world = await open()
    const device = world.device()
    const { client } = await welcomed(place.tcp, device)
    client.stream.pause()
    let sent = 0
    while (place.gateway.stats().counters.framesQueued === 0 && sent < 400) {
      await place.deliver(device, large)
      sent++
    }
    client.stream.resume()
    for (let n = 0; n < sent; n++) expect((await heard(client, device)).seq).toBe(n + 2)
  })
})

describe('a gateway that goes away', () => {
  it('asks those over MQTT to move, too, and then ends them', async () => {
    const world = await open({ limits: { minMoveWindowMs: 100, moveGraceMs: 50 } })
    const device = world.device()
    const { client } = await welcomed(place.tcp, device)
    const socket = await connect(dialSocket(place.agent), world.device())
    await socket.greet()
    const drained = place.gateway.drain()
    expect((await heard(client, device)).move).toBeTruthy()
    expect((await socket.next()).move).toBeTruthy()
    await drained
    await client.closed
    await expect(openRaw(place.tcp)).rejects.toThrow('ECONNREFUSED')
    expect(place.closed).toEqual({ DRAINING: 2 })
  })

  it('does not hold on to whoever has said nothing', async () => {
    await open()
    const clients = [await openRaw(place.tcp), await openRaw(place.websocket)]
    clients[0]?.say(subscribePacket(down({ id: 'x', token: '' })).subarray(0, 0))
    await place.gateway.close()
    await Promise.all(clients.map((client) => client.closed))
    expect(place.closed).toEqual({ DRAINING: 2 })
  })
})
