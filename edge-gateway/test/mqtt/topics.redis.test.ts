import { svc } from '@svc/proto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pause } from '../harness.ts'
import type { Device } from '../wire.ts'
import {
  connectPacket,
  down,
  openRaw,
  packet,
  pingreq,
  publishPacket,
  subscribePacket,
  up,
} from './client.ts'
import { frame, heard, Place, saying, welcomed } from './place.ts'

let place: Place
let device: Device
let neighbour: Device
beforeEach(async () => {
  place = await Place.open()
  ;[device, neighbour] = [place.world.device(), place.world.device()]
})
afterEach(() => place.close())

const commandId = '018f0000-0000-7000-8000-0000000000aa'
const refused = 0x80

describe('what is subscribed', () => {
  it.each<[string, (mine: string, theirs: string) => string, number]>([
    ['everything', () => '#', 0],
    ['everybody’s', () => 'd/+/down', 0],
    ['all of one’s own', (mine) => `${mine.slice(0, -'down'.length)}+`, 0],
    ['a neighbour’s', (_mine, theirs) => theirs, 0],
    ['one’s own way up', (mine) => mine.replace('down', 'up'), 0],
    ['what the broker says of itself', () => '$SYS/#', 0],
    ['a shared one', (mine) => `$share/a/${mine}`, 0],
    ['something below', (mine) => `${mine}/x`, 0],
    ['upper case', (mine) => mine.toUpperCase(), 0],
    ['QoS 2', (mine) => mine, 2],
  ])('is not %s', async (_what, topicOf, qos) => {
    const { client } = await welcomed(place.tcp, device)
    client.say(subscribePacket(topicOf(down(device), down(neighbour)), { id: 5, qos }))
    expect(await client.expect(9)).toEqual(Buffer.from([0, 5, refused]))
  })

  it('beside something else is what is granted of it', async () => {
    const { client } = await welcomed(place.tcp, device)
    const both = Buffer.concat([
      subscribePacket('#', { id: 6 }).subarray(2),
      subscribePacket(down(device), { qos: 1 }).subarray(4),
    ])
    client.say(Buffer.from([0x82, both.length]), both)
    expect(await client.expect(9)).toEqual(Buffer.from([0, 6, refused, 1]))
  })
})

describe('what is published', () => {
  it.each<[string, (mine: string, theirs: string) => Buffer, string]>([
    ['for a neighbour', (_mine, theirs) => publishPacket(theirs, Buffer.of(1)), 'UNEXPECTED_FRAME'],
    [
      'as a neighbour',
      (_mine, theirs) => publishPacket(theirs.replace('down', 'up'), Buffer.of(1)),
      'UNEXPECTED_FRAME',
    ],
    ['for oneself', (mine) => publishPacket(mine, Buffer.of(1)), 'UNEXPECTED_FRAME'],
    ['as the broker', () => publishPacket('$SYS/x/new/clients', Buffer.of(1)), 'UNEXPECTED_FRAME'],
    ['elsewhere at QoS 1', () => publishPacket('x', Buffer.of(1), { qos: 1, id: 1 }), 'UNEXPECTED_FRAME'],
    ['to many', () => publishPacket('d/+/up', Buffer.of(1)), 'MALFORMED_FRAME'],
    ['nowhere', () => publishPacket('', Buffer.of(1)), 'MALFORMED_FRAME'],
    [
      'without its number',
      (mine) => publishPacket(mine.replace('down', 'up'), Buffer.of(1), { qos: 1 }),
      'MALFORMED_FRAME',
    ],
    [
      'to be kept',
      (mine) => publishPacket(mine.replace('down', 'up'), Buffer.of(1), { retain: true }),
      'UNEXPECTED_FRAME',
    ],
    [
      'at QoS 2',
      (mine) => publishPacket(mine.replace('down', 'up'), Buffer.of(1), { qos: 2, id: 1 }),
      'UNEXPECTED_FRAME',
    ],
  ])('%s ends the connection', async (_what, packetOf, reason) => {
    const listener = await welcomed(place.tcp, neighbour)
    const { client } = await welcomed(place.tcp, device)
    client.say(packetOf(down(device), down(neighbour)))
    expect((await heard(client, device)).refused?.reason).toBe(
      svc.v1.CloseReason[reason as keyof typeof svc.v1.CloseReason],
    )
    await client.closed
    expect(place.closed).toEqual({ [reason]: 1 })
    // Nothing of it came to the neighbour, or from it.
    listener.client.say(saying(neighbour, { heartbeat: {} }))
    expect((await heard(listener.client, neighbour)).heartbeatAck).toBeTruthy()
    await pause(20)
    expect((await place.world.upOf(device)).filter((item) => item.heartbeat)).toEqual([])
  })
})

describe('what comes down', () => {
  it('comes to its device and to nobody else', async () => {
    const mine = await welcomed(place.tcp, device)
    const theirs = await welcomed(place.websocket, neighbour)
    await place.deliver(device, { resultAck: { commandId } })
    await place.deliver(neighbour, { commandCancel: { commandId } })
    expect(await heard(mine.client, device)).toMatchObject({ seq: 2, resultAck: { commandId } })
    expect(await heard(theirs.client, neighbour)).toMatchObject({ seq: 2, commandCancel: { commandId } })
  })

  it('does not come back from what a device says itself', async () => {
    const { client } = await welcomed(place.tcp, device)
    client.say(publishPacket(up(device), frame({ heartbeat: {} }), { qos: 1, id: 2 }))
    const kinds = [(await client.next())?.head, (await client.next())?.head]
    expect(new Set(kinds)).toEqual(new Set([0x30, 0x40]))
    expect(await Promise.race([client.next(), pause(100)])).toBeUndefined()
  })

  it('waits for whoever has not subscribed yet, or does so no more, and comes in order', async () => {
    const client = await openRaw(place.tcp)
    client.say(connectPacket(device))
    await client.connack()
    await place.deliver(device, { resultAck: { commandId } })
    client.say(saying(device, { heartbeat: {} }))
    await pause(50)
    client.say(subscribePacket(down(device)))
    await client.expect(9)
    const seqs = [await heard(client, device), await heard(client, device), await heard(client, device)]
    expect(seqs.map(({ seq }) => seq)).toEqual([1, 2, 3])
    client.say(packet(0xa2, subscribePacket(down(device)).subarray(2, -1)))
    await client.expect(11)
    await place.deliver(device, { resultAck: { commandId } })
    client.say(pingreq)
    expect(await client.expect(13)).toBeTruthy()
    client.say(subscribePacket(down(device)))
    await client.expect(9)
    expect(await heard(client, device)).toMatchObject({ seq: 4, resultAck: { commandId } })
  })
})
