import { closeCode, maxFrameBytes } from '@svc/proto'
import { describe, expect, it } from 'vitest'
import { until } from '../../test/harness.ts'
import { dialMqtt } from '../../test/mqtt/client.ts'
import type { Recorder } from '../../test/recorder.ts'
import { join, maxBacklogBytes, overMqtt, start, uws, ws } from '../../test/transports.ts'
import { type Dial, dialPair, dialSocket, headersOf, newDevice } from '../../test/wire.ts'
import { subprotocol, type Transport } from './link.ts'
import { type PairPeer, PairTransport } from './pair.ts'
import { together } from './together.ts'

interface Made {
  doorway: Recorder
  dial: Dial
  transport: Transport
}

/** Over sockets: by how it dials the place where it is found. */
const overSockets = async (transport: Transport, dial: (url: string) => Dial): Promise<Made> => {
  const { doorway, url } = await start(transport)
  return { doorway, dial: dial(url), transport }
}

const inMemory = async (): Promise<Made> => {
  const transport = new PairTransport({ maxBacklogBytes })
  const { doorway } = await start(transport)
  return { doorway, dial: dialPair(transport), transport }
}

/** MQTT over the WebSocket that another transport serves. */
const overWebSocket = (make: (more: object) => Transport): Promise<Made> => {
  const mqtt = overMqtt({ port: undefined })
  return overSockets(together(make({ mqtt: mqtt.door }), mqtt), (url) =>
    dialMqtt(url.replace('agent', 'mqtt')),
  )
}

interface Kind {
  name: string
  make: () => Promise<Made>
  via: 'websocket' | 'mqtt'
  /** what an end tells the peer */
  code: typeof closeCode
}

const withUpgrade = { via: 'websocket', code: closeCode } as const
const kinds: Kind[] = [
  { name: 'in memory', make: inMemory, ...withUpgrade },
  { name: 'uWebSockets.js', make: () => overSockets(uws(), dialSocket), ...withUpgrade },
  { name: 'ws', make: () => overSockets(ws(), dialSocket), ...withUpgrade },
  { name: 'MQTT over TCP', make: () => overSockets(overMqtt(), dialMqtt), via: 'mqtt', code: () => 0 },
  { name: 'MQTT in uWebSockets.js', make: () => overWebSocket(uws), via: 'mqtt', code: closeCode },
  { name: 'MQTT in ws', make: () => overWebSocket(ws), via: 'mqtt', code: closeCode },
]

const closeTo = (peer: PairPeer) => peer.closed

const upgrading = kinds.filter(({ via }) => via === 'websocket')

describe.each(upgrading)('an upgrade: $name', ({ make }) => {
  it.each([
    [401, { protocol: subprotocol }],
    [401, { protocol: subprotocol, authorization: 'Bearer nonsense' }],
    [401, { protocol: subprotocol, authorization: headersOf(newDevice()).authorization?.slice(0, -1) ?? '' }],
    [400, { ...headersOf(newDevice()), protocol: 'mqtt' }],
    [400, { authorization: headersOf(newDevice()).authorization ?? '' }],
  ])('turns away with %i before there is a connection', async (status, headers) => {
    const { doorway, dial } = await make()
    expect(await dial(headers)).toBe(status)
    expect(doorway.connections).toEqual([])
    expect(doorway.rejections).toEqual([status])
  })

  it('finds our subprotocol among others', async () => {
    const { dial } = await make()
    expect(typeof (await dial({ ...headersOf(newDevice()), protocol: `other,${subprotocol}` }))).toBe(
      'object',
    )
  })
})

describe.each(kinds)('a transport: $name', ({ make, via, code }) => {
  it('tells who comes, and from where', async () => {
    const { doorway, dial } = await make()
    const { side, device } = await join(dial, doorway)
    expect(side.greeting).toMatchObject({ deviceId: device.id, address: '127.0.0.1', via })
    expect(side.greeting.tokenSha256).toHaveLength(32)
  })

  it('carries frames both ways, in order, and hands over bytes that stay as they are', async () => {
    const { doorway, dial } = await make()
    const { peer, side } = await join(dial, doorway)
    for (let n = 0; n < 100; n++) peer.send(Uint8Array.from([n, 1, 2, 3]))
    await until(() => side.frames.length === 100)
    expect(side.frames.map(([n]) => n)).toEqual(Array.from({ length: 100 }, (_, n) => n))
    for (let n = 0; n < 100; n++) expect(side.link.send(Uint8Array.from([n]))).toBe('sent')
    for (let n = 0; n < 100; n++) expect([...(await peer.next())]).toEqual([n])
  })

  it('turns everybody away with 503 while the door is shut', async () => {
    const { doorway, dial } = await make()
    doorway.admits = 503
    expect(await dial(headersOf(newDevice()))).toBe(503)
  })

  it('says why it closes, does not report its own close, and is deaf and dumb afterwards', async () => {
    const { doorway, dial } = await make()
    const { peer, side } = await join(dial, doorway)
    side.link.close('SUPERSEDED')
    side.link.close('QUARANTINED')
    expect(side.link.send(new Uint8Array(1))).toBe('dropped')
    expect(side.link.backlog).toBe(0)
    peer.send(new Uint8Array(1))
    expect(await closeTo(peer)).toBe(code('SUPERSEDED'))
    expect([side.gone, side.frames]).toEqual([[], []])
  })

  it('delivers what was sent before a close', async () => {
    const { doorway, dial } = await make()
    const { peer, side } = await join(dial, doorway)
    side.link.send(Uint8Array.from([7]))
    side.link.close('QUARANTINED')
    expect([...(await peer.next())]).toEqual([7])
    expect(await closeTo(peer)).toBe(code('QUARANTINED'))
  })

  it('may be closed from inside a frame', async () => {
    const { doorway, dial } = await make()
    doorway.onFrame = (link) => {
      link.close('MALFORMED_FRAME')
      link.send(new Uint8Array(1))
    }
    const { peer, side } = await join(dial, doorway)
    peer.send(new Uint8Array(1))
    expect(await closeTo(peer)).toBe(code('MALFORMED_FRAME'))
    expect(side.gone).toEqual([])
  })

  it('reports once that a peer has gone, whatever close code it sent', async () => {
    const { doorway, dial } = await make()
    const { peer, side } = await join(dial, doorway)
    peer.close()
    await until(() => side.gone.length > 0)
    side.link.close('SUPERSEDED')
    expect(side.gone).toEqual(['PEER_CLOSED'])
  })

  it('ends a connection whose frame is over the limit, and says so above', async () => {
    const { doorway, dial } = await make()
    const bystander = await join(dial, doorway)
    const { peer, side } = await join(dial, doorway)
    peer.send(new Uint8Array(maxFrameBytes + 1))
    await until(() => side.gone.length > 0)
    expect(side.gone).toEqual(['OVERSIZED_FRAME'])
    expect(await closeTo(peer)).toBe(code('OVERSIZED_FRAME'))
    expect(bystander.side.gone).toEqual([])
  })

  it('survives a handler that throws, at the cost of that connection', async () => {
    const { doorway, dial } = await make()
    const bystander = await join(dial, doorway)
    const { peer, side } = await join(dial, doorway)
    doorway.onFrame = () => {
      throw new Error('a fault of ours')
    }
    peer.send(new Uint8Array(1))
    expect(await closeTo(peer)).toBe(code('INTERNAL_ERROR'))
    expect([side.gone, bystander.side.gone, doorway.errors.length]).toEqual([['INTERNAL_ERROR'], [], 1])
  })

  it('holds a bounded backlog for a peer that does not read, drops beyond it, and tells when there is room', async () => {
    const { doorway, dial } = await make()
    const { peer, side } = await join(dial, doorway)
    peer.pause()
    const chunk = new Uint8Array(64 * 1024)
    let accepted = 0
    let outcome: string = side.link.send(chunk)
    for (; outcome !== 'dropped' && accepted < 1_000; accepted++) outcome = side.link.send(chunk)
    expect(outcome).toBe('dropped')
    expect(side.link.backlog).toBeGreaterThan(0)
    expect(side.link.backlog).toBeLessThanOrEqual(maxBacklogBytes)
    peer.resume()
    for (let n = 0; n < accepted; n++) expect(await peer.next()).toHaveLength(chunk.length)
    await until(() => side.rooms > 0)
    expect([side.link.backlog, side.link.send(chunk)]).toEqual([0, 'sent'])
  })

  it('takes one frame larger than the backlog when nothing else waits', async () => {
    const { doorway, dial } = await make()
    const { peer, side } = await join(dial, doorway)
    peer.pause()
    expect(side.link.send(new Uint8Array(3 * 1024 * 1024))).not.toBe('dropped')
    peer.resume()
    expect(await peer.next()).toHaveLength(3 * 1024 * 1024)
  })

  const isRefused = async (dial: Dial) => {
    const late = await dial(headersOf(newDevice())).catch((error: NodeJS.ErrnoException) => error.code)
    expect([503, 'ECONNREFUSED']).toContain(late)
  }

  it('takes nobody after it has stopped, and keeps those it has', async () => {
    const { doorway, dial, transport } = await make()
    const { peer, side } = await join(dial, doorway)
    transport.stop()
    await isRefused(dial)
    peer.send(new Uint8Array(1))
    await until(() => side.frames.length === 1)
  })

  it('takes nobody while it pauses, keeps those it has, and is found at the same place afterwards', async () => {
    const { doorway, dial, transport } = await make()
    const { peer, side } = await join(dial, doorway)
    for (const n of [1, 2]) {
      transport.pause()
      transport.pause()
      await isRefused(dial)
      peer.send(new Uint8Array(1))
      await until(() => side.frames.length === n)
      await transport.resume()
      await transport.resume()
      await join(dial, doorway)
    }
    expect(doorway.errors).toEqual([])
  })

  it('does not listen again once it has stopped', async () => {
    const { dial, transport } = await make()
    transport.pause()
    transport.stop()
    await transport.resume()
    await isRefused(dial)
  })

  it('reports every connection that its own end takes away', async () => {
    const { doorway, dial, transport } = await make()
    const { side } = await join(dial, doorway)
    transport.close()
    transport.close()
    await until(() => side.gone.length > 0)
    expect(side.gone).toEqual(['DRAINING'])
  })
})
