import { closeCode, makeDeviceToken, svc } from '@svc/proto'
import { afterEach, describe, expect, it } from 'vitest'
import { MemoryClaims } from '../../src/claims/memory.ts'
import { pause, until } from '../harness.ts'
import { connect, dialSocket, newDevice } from '../wire.ts'
import { type ConnectMore, connectPacket, down, openRaw, subscribePacket } from './client.ts'
import { heard, Place, type PlaceOptions, saying, welcomed } from './place.ts'

let place: Place
afterEach(() => place.close())
const open = async (options: PlaceOptions = {}) => {
  place = await Place.open(options)
  return place.world
}

const { Standing } = svc.v1

/** The return code of a CONNECT, and whether the connection ended behind it. */
const answerTo = async (device: ReturnType<typeof newDevice>, more: ConnectMore = {}, url = place.tcp) => {
  const client = await openRaw(url)
  client.say(connectPacket(device, more))
  const code = (await client.next())?.body.at(-1)
  if (code !== 0) await client.closed
  return code
}

describe('a CONNECT', () => {
  it.each(['tcp', 'websocket', 'tls'] as const)('is the Hello, over %s', async (way) => {
    const world = await open({ tls: way === 'tls' })
    const device = world.device({ heartbeatIntervalMs: 5_000 })
    const client = await openRaw(place[way])
    client.say(connectPacket(device))
    expect(await client.connack()).toBe(0)
    client.say(subscribePacket(down(device), { qos: 1, id: 9 }))
    expect(await client.expect(9)).toEqual(Buffer.from([0, 9, 1]))
    const { welcome } = await heard(client, device)
    expect(welcome).toMatchObject({ heartbeatIntervalMs: 5_000, protocol: 1 })
    await until(async () => (await world.upOf(device)).length > 0)
    expect((await world.upOf(device))[0]).toMatchObject({
      epoch: welcome?.epoch,
      session: { via: 'mqtt', remoteAddress: '127.0.0.1', kind: svc.v1.SessionEvent.Kind.CONNECTED },
    })
    expect(place.gateway.stats().via()).toEqual({ websocket: 0, mqtt: 1 })
  })

  it('is answered when it is decided, and not before', async () => {
    const claims = new MemoryClaims()
    let decide = () => {}
    const decided = new Promise<void>((resolve) => {
      decide = resolve
    })
    const slow = Object.create(claims) as MemoryClaims
    slow.admit = async (request) => {
      await decided
      return claims.admit(request)
    }
    slow.remember = (profiles) => claims.remember(profiles)
    slow.release = (released) => claims.release(released)
    const world = await open({ claims: slow })
    const device = world.device()
    const client = await openRaw(place.tcp)
    // A client need not wait for the answer: what it says meanwhile is kept.
    client.say(connectPacket(device), subscribePacket(down(device)), saying(device, { heartbeat: {} }))
    const first = client.next()
    expect(await Promise.race([first, pause(150)])).toBeUndefined()
    decide()
    expect((await first)?.body).toEqual(Buffer.from([0, 0]))
    await client.expect(9)
    const said = [await heard(client, device), await heard(client, device)]
    expect(said.map(({ body }) => body)).toEqual(['welcome', 'heartbeatAck'])
  })

  it('of a device that stays out is answered with why, and ends', async () => {
    const world = await open()
    const codes = [
      await answerTo(world.device({ standing: Standing.STANDING_QUARANTINED })),
      await answerTo(world.device({ standing: Standing.STANDING_DECOMMISSIONED })),
      await answerTo(newDevice()),
      await answerTo({ ...world.device(), token: makeDeviceToken(newDevice().id) }),
    ]
    expect(codes).toEqual([5, 4, 4, 4])
    const device = world.device()
    expect(await answerTo({ ...device, token: makeDeviceToken(device.id) })).toBe(4)
    expect(await answerTo(device, { clientId: newDevice().id })).toBe(4)
    expect(await answerTo(device, { userName: 'admin' })).toBe(4)
    expect(place.closed).toEqual({ QUARANTINED: 1, DECOMMISSIONED: 1, CREDENTIAL_INVALID: 5 })
  })

  it('is told to come back when it cannot be decided, or there are too many', async () => {
    const world = await open({ limits: { helloBurst: 1, helloPerSecond: 0.001 } })
    world.plane.away = true
    expect(await answerTo(world.device())).toBe(3)
    expect(await answerTo(world.device())).toBe(3)
    expect(place.closed).toEqual({ UNAVAILABLE: 1, ADMISSION_RATE: 1 })
  })

  it('of another version, with a will, or for a session to be kept is refused', async () => {
    const world = await open()
    const device = world.device()
    expect(await answerTo(device, { level: 3, protocol: 'MQIsdp' })).toBe(1)
    expect(await answerTo(device, { level: 5 })).toBe(0) // behind 0x84: no properties
    expect(await answerTo(device, { flags: 0xc6, will: Buffer.from([0, 1, 116, 0, 1, 109]) })).toBe(5)
    expect(await answerTo(device, { flags: 0xc0 })).toBe(5)
    expect(place.closed).toEqual({ PROTOCOL_VERSION: 2, UNEXPECTED_FRAME: 2 })
    expect(place.gateway.stats()).toMatchObject({ newcomers: 0, residents: 0 })
  })

  it('needs no credential in its upgrade, but its subprotocol', async () => {
    const world = await open()
    await expect(openRaw(place.websocket.replace('/mqtt', '/nothing'))).rejects.toThrow('404')
    const dial = dialSocket(place.websocket)
    expect(await dial({ protocol: 'svc.agent.v1' })).toBe(400)
    expect(typeof (await dial({ protocol: 'mqttv3.1,mqtt' }))).toBe('object')
    expect(await answerTo(world.device(), {}, place.websocket)).toBe(0)
  })
})

describe('a Hello that follows', () => {
  it('completes what is known of the connection, at its own epoch', async () => {
    const world = await open()
    const device = world.device()
    const { client, epoch } = await welcomed(place.tcp, device)
    const agent = { protocolMin: 1, protocolMax: 1, agentVersion: '9.9.9', os: 'linux', bootId: 'b' }
    client.say(saying(device, { hello: agent }, { qos: 1, id: 3 }))
    expect(await client.expect(4)).toEqual(Buffer.from([0, 3]))
    const items = await world.upOf(device)
    expect(items.at(-1)).toMatchObject({
      epoch,
      session: { hello: agent, via: 'mqtt', remoteAddress: '127.0.0.1' },
    })
    expect(place.gateway.stats().residents).toBe(1)
  })

  it('of an agent that speaks only other versions ends the connection', async () => {
    const world = await open()
    const device = world.device()
    const { client } = await welcomed(place.tcp, device)
    client.say(saying(device, { hello: { protocolMin: 7, protocolMax: 8 } }))
    await client.closed
    expect(place.closed).toEqual({ PROTOCOL_VERSION: 1 })
  })
})

describe('a takeover', () => {
  it('goes by the newer connection, whatever carries it', async () => {
    const world = await open()
    const device = world.device()
    const first = await welcomed(place.tcp, device)
    const second = await welcomed(place.websocket, device)
    const { refused } = await heard(first.client, device)
    expect(refused).toMatchObject({ reason: svc.v1.CloseReason.SUPERSEDED, retryAfterMs: 1 })
    await first.client.closed
    const third = await connect(dialSocket(place.agent), device)
    expect((await third.greet()).welcome).toBeTruthy()
    await second.client.closed
    const fourth = await welcomed(place.tcp, device)
    expect(await third.peer.closed).toBe(closeCode('SUPERSEDED'))
    fourth.client.say(saying(device, { heartbeat: {} }))
    expect((await heard(fourth.client, device)).heartbeatAck).toBeTruthy()
    expect(place.gateway.stats()).toMatchObject({ residents: 1 })
    expect(place.closed).toEqual({ SUPERSEDED: 3 })
  })

  it('of many at once leaves exactly one', async () => {
    const world = await open()
    const device = world.device()
    const clients = await Promise.all(Array.from({ length: 20 }, () => openRaw(place.tcp)))
    for (const client of clients) client.say(connectPacket(device), subscribePacket(down(device)))
    await until(() => place.closed['SUPERSEDED'] === 19)
    expect(place.gateway.stats()).toMatchObject({ residents: 1, newcomers: 0 })
  })

  it('and a revocation end it', async () => {
    const world = await open()
    const device = world.device()
    const { client } = await welcomed(place.tcp, device)
    await world.tell('n1', { revocation: { deviceId: device.id, credentialVersion: 1 } })
    // The protocol has no reason for an end: it comes as the last frame.
    const reason = svc.v1.CloseReason.CREDENTIAL_REVOKED
    expect((await heard(client, device)).refused).toMatchObject({ reason, retryAfterMs: 0 })
    await client.closed
    expect(place.closed).toEqual({ CREDENTIAL_REVOKED: 1 })
  })
})
