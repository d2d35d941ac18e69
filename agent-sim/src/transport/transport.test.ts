import { type CloseReason, closeCode, closeReasons } from '@svc/proto'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../../test/eventually.ts'
import { FarEnd } from '../../test/far-end.ts'
import { kindOf, type TransportKind, transportKinds } from './kinds.ts'
import { openTransport } from './open.ts'
import type { Connection } from './transport.ts'

const ends: FarEnd[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end.close()
})

async function farEnd(kind: TransportKind): Promise<FarEnd> {
  const end = await FarEnd.open(kind)
  ends.push(end)
  return end
}

interface Ended {
  reason: CloseReason
  detail: string
  retryAfterMs: number | undefined
}

/** A connection and all that it told. */
interface Near {
  connection: Connection
  told: string[]
  ended: Promise<Ended>
}

function dial(url: string): Near {
  const told: string[] = []
  const kind = kindOf(url)
  if (!kind) throw new Error(`${url} is no gateway's`)
  let resolve: (ended: Ended) => void = () => {}
  const ended = new Promise<Ended>((done) => {
    resolve = done
  })
  const transport = openTransport(kind, {
    gateways: [url],
    deviceId: 'd1',
    token: () => 'svca_x',
    random: Math.random,
  })
  const connection = transport.connect({
    opened: () => told.push('opened'),
    frame: (bytes) => told.push(Buffer.from(bytes).toString()),
    closed: (reason, detail, retryAfterMs) => {
      told.push('closed')
      resolve({ reason, detail, retryAfterMs })
    },
  })
  return { connection, told, ended }
}

/** Opened, to the server's knowledge too. */
async function opened(end: FarEnd): Promise<Near> {
  const near = dial(end.url)
  await eventually(() => near.told).toEqual(['opened'])
  return near
}

describe.each(transportKinds)('over %s', (kind) => {
  it('frames go both ways as they are and in order, each once', async () => {
    const end = await farEnd(kind)
    const { connection, told } = await opened(end)
    for (const text of ['a', 'b', 'c']) connection.send(Buffer.from(text), text === 'b')
    await eventually(() => end.arrived.map(({ text }) => text)).toEqual(['a', 'b', 'c'])
    for (const text of ['x', 'y']) end.say(text)
    await eventually(() => told).toEqual(['opened', 'x', 'y'])
    await eventually(() => connection.buffered).toBe(0)
  })

  it('a polite close comes behind what was said, and is told once', async () => {
    const end = await farEnd(kind)
    const { connection, told, ended } = await opened(end)
    for (let n = 0; n < 50; n++) connection.send(Buffer.from(String(n)))
    connection.close('SHUTDOWN')
    await ended
    expect(end.arrived.map(({ text }) => text)).toEqual(Array.from({ length: 50 }, (_, n) => String(n)))
    expect(end.gone[0]).toBe(kind === 'websocket' ? `code ${closeCode('SHUTDOWN')}` : 'disconnect')
    connection.close('SHUTDOWN')
    connection.drop()
    connection.send(Buffer.from('late'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(told).toEqual(['opened', 'closed'])
  })

  it('a drop says no word', async () => {
    const end = await farEnd(kind)
    const { connection, ended } = await opened(end)
    connection.drop()
    await ended
    await eventually(() => end.gone).toEqual([kind === 'websocket' ? 'code 1006' : 'close'])
  })

  it('can be given up before it is open', async () => {
    const end = await farEnd(kind)
    for (const how of ['close', 'drop'] as const) {
      const { connection, told, ended } = dial(end.url)
      connection[how]('SHUTDOWN')
      await ended
      expect(told).toEqual(['closed'])
    }
  })

  it('a server that goes away is a peer that closed', async () => {
    const end = await farEnd(kind)
    const { ended } = await opened(end)
    await end.close()
    ends.length = 0
    expect((await ended).reason).toBe('PEER_CLOSED')
  })

  it('says what the network said', async () => {
    const url = {
      websocket: 'ws://127.0.0.1:1/agent',
      mqtt: 'mqtt://127.0.0.1:1',
      'mqtt-ws': 'ws://127.0.0.1:1/mqtt',
    }
    expect(await dial(url[kind]).ended).toMatchObject({ reason: 'PEER_CLOSED', detail: 'ECONNREFUSED' })
  })
})

describe.each(['websocket', 'mqtt-ws'] as const)('over %s', (kind) => {
  it('takes no HTTP answer for the end of the agent, whatever its status', async () => {
    const end = await farEnd(kind)
    for (const status of [401, 403, 404, 502]) {
      end.httpStatus = status
      const ended = await dial(end.url).ended
      expect(ended).toMatchObject({ detail: `HTTP ${status}`, retryAfterMs: undefined })
      expect(closeReasons[ended.reason]).toBe('later')
    }
  })

  it('hears when a proxy says how long to wait', async () => {
    const end = await farEnd(kind)
    end.httpStatus = 503
    end.httpHeaders = { 'retry-after': '7' }
    expect(await dial(end.url).ended).toMatchObject({ retryAfterMs: 7_000 })
  })

  it('takes the reason from the close code', async () => {
    const end = await farEnd(kind)
    const { ended } = await opened(end)
    end.end(closeCode('SUPERSEDED'))
    expect((await ended).reason).toBe('SUPERSEDED')
  })
})

describe.each(['mqtt', 'mqtt-ws'] as const)('over %s', (kind) => {
  it('a device is its client id and user name, its token the password, and its two topics are all it uses', async () => {
    const end = await farEnd(kind)
    const { connection } = await opened(end)
    connection.send(Buffer.from('a'))
    await eventually(() => end.arrived.length).toBe(1)
    // Below the 60 s after which common proxies cut what is silent.
    expect(end.said).toEqual(['connect d1 d1 svca_x clean keepalive 40', 'subscribe d/d1/down 1'])
  })

  it('wants each frame acknowledged but the fleeting ones, and counts it as waiting until it is', async () => {
    const end = await farEnd(kind)
    end.acknowledges = false
    const { connection } = await opened(end)
    connection.send(Buffer.from('result'))
    connection.send(Buffer.from('beat'), true)
    await eventually(() => end.arrived).toEqual([
      { text: 'result', acknowledged: true },
      { text: 'beat', acknowledged: false },
    ])
    await eventually(() => connection.buffered).toBe('result'.length)
    end.acknowledge()
    await eventually(() => connection.buffered).toBe(0)
  })

  it('reads why a CONNECT was turned down, and what that means for the agent', async () => {
    const end = await farEnd(kind)
    const found: Record<number, string> = {}
    for (const code of [1, 2, 3, 4, 5]) {
      end.returnCode = code
      const { reason, detail } = await dial(end.url).ended
      expect(detail).toMatch(/^Connection refused: /)
      found[code] = `${reason} ${closeReasons[reason]}`
    }
    expect(found).toEqual({
      1: 'PROTOCOL_VERSION later',
      2: 'PEER_CLOSED later',
      3: 'UNAVAILABLE later',
      4: 'CREDENTIAL_INVALID stop',
      5: 'QUARANTINED later',
    })
  })

  it('is not open where it may not subscribe', async () => {
    const end = await farEnd(kind)
    end.grantsTopics = false
    const { told, ended } = dial(end.url)
    expect((await ended).detail).toMatch(/^not subscribed/)
    expect(told).toEqual(['closed'])
  })
})
