import { randomBytes } from 'node:crypto'
import { maxHelloBytes } from '@svc/proto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../harness.ts'
import type { Device } from '../wire.ts'
import {
  connectPacket,
  openRaw,
  packet,
  pingreq,
  publishPacket,
  type RawClient,
  subscribePacket,
  up,
} from './client.ts'
import { heard, Place, saying, welcomed } from './place.ts'

let place: Place
let device: Device
let bystander: { client: RawClient; device: Device }
beforeEach(async () => {
  place = await Place.open({ limits: { helloWithinMs: 400, maxNewcomers: 50 }, tls: true })
  device = place.world.device()
  const resident = place.world.device()
  bystander = { client: (await welcomed(place.tls, resident)).client, device: resident }
})
afterEach(async () => {
  bystander.client.say(saying(bystander.device, { heartbeat: {} }))
  expect((await heard(bystander.client, bystander.device)).heartbeatAck).toBeTruthy()
  expect(place.gateway.stats().counters.errors).toBe(0)
  await place.close()
})

const claim = (head: number) => Buffer.from([head, 0xff, 0xff, 0xff, 0x7f])
const deep = 'x/'.repeat(10_000)

describe.each(['tcp', 'tls', 'websocket'] as const)('a stranger over %s', (way) => {
  const url = () => (way === 'websocket' ? place.websocket.replace('ws:', 'wss:') : place[way])

  it.each<[string, () => Buffer, string]>([
    ['says something else first', () => pingreq, 'UNEXPECTED_FRAME'],
    ['speaks another language', () => Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'UNEXPECTED_FRAME'],
    ['claims 256 MB', () => claim(0x10), 'OVERSIZED_FRAME'],
    ['says too much', () => packet(0x10, Buffer.alloc(maxHelloBytes + 1)), 'OVERSIZED_FRAME'],
    ['says nonsense', () => packet(0x10, Buffer.from('nonsense')), 'MALFORMED_FRAME'],
  ])('that %s is sent away at once', async (_what, bytes, reason) => {
    const client = await openRaw(url())
    client.say(bytes())
    await client.closed
    expect(place.closed).toEqual({ [reason]: 1 })
  })

  it('that says nothing, or does not come to an end, is sent away in time', async () => {
    const [silent, slow] = [await openRaw(url()), await openRaw(url())]
    slow.say(connectPacket(device).subarray(0, -1))
    await Promise.all([silent.closed, slow.closed])
    expect(place.closed).toEqual({ ADMISSION_TIMEOUT: 2 })
  })
})

it('too many strangers are not taken in, and are counted', async () => {
  const clients = await Promise.all(Array.from({ length: 60 }, () => openRaw(place.tcp)))
  await until(() => place.gateway.stats().counters.rejected['503'] === 10)
  await expect(openRaw(place.websocket.replace('ws:', 'wss:'))).rejects.toThrow('503')
  await Promise.all(clients.map((client) => client.closed))
  expect(place.closed).toEqual({ ADMISSION_TIMEOUT: 50 })
})

it('whoever speaks no TLS where it must is sent away', async () => {
  const client = await openRaw(place.tls.replace('mqtts', 'mqtt'))
  client.say(connectPacket(device))
  await client.closed
  expect(place.closed).toEqual({ MALFORMED_FRAME: 1 })
})

describe('a device', () => {
  it.each<[string, () => Buffer, string]>([
    ['connects twice', () => connectPacket(device), 'UNEXPECTED_FRAME'],
    ['claims 256 MB', () => claim(0x30), 'OVERSIZED_FRAME'],
    ['publishes ever so deep', () => publishPacket(deep, Buffer.of(1)), 'MALFORMED_FRAME'],
    ['subscribes ever so deep', () => subscribePacket(deep), 'OVERSIZED_FRAME'],
    ['subscribes rather deep', () => subscribePacket('x/'.repeat(200)), 'MALFORMED_FRAME'],
    ['subscribes to nothing', () => packet(0x82, [0, 1]), 'MALFORMED_FRAME'],
    ['subscribes beyond its end', () => packet(0x82, [0, 1, 0xff, 0xff, 1]), 'MALFORMED_FRAME'],
    [
      'publishes what is no envelope',
      () => publishPacket(up(device), Buffer.of(0x0a, 0xff)),
      'MALFORMED_FRAME',
    ],
  ])('that %s ends its own connection', async (_what, bytes, reason) => {
    const { client } = await welcomed(place.tcp, device)
    client.say(bytes(), pingreq)
    await client.closed
    expect(place.closed).toEqual({ [reason]: 1 })
  })

  it('that talks garbage hundreds of times hurts nobody', async () => {
    for (let n = 0; n < 200; n++) {
      const client = await openRaw(place.tcp)
      if (n % 2) client.say(connectPacket(device))
      if (n % 4 === 3) await client.connack()
      client.say(n % 5 ? randomBytes(1 + (n % 97)) : packet(0x30, randomBytes(n % 300)))
      if (n % 3) client.stream.destroy()
      else client.stream.end()
    }
    await until(() => {
      const { newcomers, residents } = place.gateway.stats()
      return newcomers === 0 && residents === 1
    })
  })
})
