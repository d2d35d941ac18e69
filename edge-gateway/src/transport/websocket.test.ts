import { connect as connectTcp } from 'node:net'
import { closeCode } from '@svc/proto'
import { describe, expect, it } from 'vitest'
import { until } from '../../test/harness.ts'
import type { Recorder } from '../../test/recorder.ts'
import { join, start, uws, ws } from '../../test/transports.ts'
import { dialSocket, get, headersOf, newDevice } from '../../test/wire.ts'
import { trustOf } from './address.ts'
import { PortTaken, subprotocol } from './link.ts'

describe.each([
  ['uWebSockets.js', uws],
  ['ws', ws],
])('%s', (_name, make) => {
  const httpOf = (url: string, path: string) => url.replace(/^ws/, 'http').replace('/agent', path)

  it('answers health on the same port, and 404 elsewhere', async () => {
    const { url } = await start(make())
    expect(await get(httpOf(url, '/health'))).toEqual({ status: 200, body: { path: '/health' } })
    expect(await get(httpOf(url, '/health/ready'))).toMatchObject({ status: 503 })
    expect(await get(httpOf(url, '/agent'))).toMatchObject({ status: 404 })
    expect(await get(httpOf(url, '/nothing'))).toMatchObject({ status: 404 })
  })

  it('names a port in use and its variable in one line', async () => {
    const { url } = await start(make())
    const port = Number(new URL(url).port)
    const second = make({ port })
    await expect(start(second)).rejects.toThrow(PortTaken)
    await expect(start(second)).rejects.toThrow(
      `cannot listen on 127.0.0.1 port ${port}: set GATEWAY_PORT or GATEWAY_HOST`,
    )
  })

  it('ends a text message and a broken frame as malformed', async () => {
    const { doorway, url } = await start(make())
    const dial = dialSocket(url)
    const { peer, side } = await join(dial, doorway)
    peer.send('text' as unknown as Uint8Array)
    expect(await peer.closed).toBe(closeCode('MALFORMED_FRAME'))
    expect(side.gone).toEqual(['MALFORMED_FRAME'])
  })

  it('believes an address only from a trusted proxy', async () => {
    const forwarded = { 'x-forwarded-for': '8.8.8.8, 203.0.113.9, 10.0.0.2' }
    const plain = await start(make())
    await join(dialSocket(plain.url, forwarded), plain.doorway)
    expect(plain.doorway.connections[0]?.greeting.address).toBe('127.0.0.1')
    const behind = await start(make({ trusted: trustOf(['127.0.0.0/8', '10.0.0.0/8']) }))
    await join(dialSocket(behind.url, forwarded), behind.doorway)
    expect(behind.doorway.connections[0]?.greeting.address).toBe('203.0.113.9')
  })

  it('takes all lines of X-Forwarded-For for one: what a client wrote stands before what its proxy did', async () => {
    const { doorway, url } = await start(make({ trusted: trustOf(['127.0.0.1']) }))
    await join(dialSocket(url, { 'x-forwarded-for': ['6.6.6.6', '7.7.7.7', '198.51.100.4'] }), doorway)
    expect(doorway.connections[0]?.greeting.address).toBe('198.51.100.4')
  })
})

describe('uWebSockets.js alone', () => {
  it('reads PROXY v2, and believes it only from a trusted proxy', async () => {
    const dialProxied = async (url: string, doorway: Recorder) => {
      const { authorization = '' } = headersOf(newDevice())
      const lines = [
        'GET /agent HTTP/1.1',
        'Host: edge',
        'Upgrade: websocket',
        'Connection: Upgrade',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        `Sec-WebSocket-Protocol: ${subprotocol}`,
        `Authorization: ${authorization}`,
        '',
        '',
      ]
      const signature = [0x0d, 0x0a, 0x0d, 0x0a, 0, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]
      const v4 = [0x21, 0x11, 0, 12, 198, 51, 100, 7, 127, 0, 0, 1, 0x30, 0x39, 0x20, 0xfb]
      const socket = connectTcp(Number(new URL(url).port), '127.0.0.1')
      socket.write(Buffer.concat([Buffer.from([...signature, ...v4]), Buffer.from(lines.join('\r\n'))]))
      await until(() => doorway.connections.length > 0)
      socket.destroy()
      return doorway.connections[0]?.greeting.address
    }
    const behind = await start(uws({ trusted: trustOf(['127.0.0.1']) }))
    expect(await dialProxied(behind.url, behind.doorway)).toBe('198.51.100.7')
    const plain = await start(uws())
    expect(await dialProxied(plain.url, plain.doorway)).toBe('127.0.0.1')
  })
})
