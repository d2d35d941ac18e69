import { decodeEnvelope, encodeBody, makeDeviceToken, tokenHash, withSeq } from '@svc/proto'
import { describe, expect, it } from 'vitest'
import * as ws from 'ws'
import { readConnect } from '../../../edge-gateway/src/transport/mqtt/connect.ts'
import { Framing } from '../../../edge-gateway/src/transport/mqtt/framing.ts'
import { publish as gatewayPublishes } from '../../../edge-gateway/src/transport/mqtt/packets.ts'
import { readGreeting } from '../../../edge-gateway/src/transport/greeting.ts'
import { heartbeat, hello, kindOf, kinds } from './envelopes.ts'
import { connect, packetTypes, payloadOf, publish, readPacket, subscribe } from './mqtt.ts'
import { clientFrame, readServerFrame, readUpgrade, upgradeRequest } from './websocket.ts'

/** Its declarations do not know them. */
const { Receiver, Sender } = ws as unknown as {
  Receiver: new (options: { isServer: boolean }) => NodeJS.EventEmitter & { write: (bytes: Buffer) => void }
  Sender: { frame: (payload: Buffer, options: object) => Buffer[] }
}

const deviceId = '018f0000-0000-7000-8000-0123456789ab'
const token = makeDeviceToken(deviceId)

describe('envelopes', () => {
  it('are what the product reads', () => {
    expect(decodeEnvelope(hello)).toMatchObject({
      seq: 1,
      body: 'hello',
      hello: { protocolMax: 1, os: 'linux' },
    })
    expect(decodeEnvelope(heartbeat)).toMatchObject({ seq: 2, heartbeat: { metrics: { processCount: 212 } } })
  })

  it.each([
    ['welcome', kinds.welcome],
    ['heartbeatAck', kinds.heartbeatAck],
    ['command', kinds.command],
    ['refused', kinds.refused],
  ] as const)('are told apart without being decoded: %s', (body, kind) => {
    expect(kindOf(withSeq(300, encodeBody({ [body]: {} })))).toBe(kind)
    expect(kindOf(encodeBody({ [body]: {} }))).toBe(kind)
  })

  it('without a body are of no kind', () => {
    expect([kindOf(withSeq(7, new Uint8Array())), kindOf(new Uint8Array())]).toEqual([0, 0])
  })
})

describe('a WebSocket', () => {
  it.each([0, 125, 126, 65_535])('frame of %i bytes is what a server reads', async (length) => {
    const payload = Buffer.alloc(length, 'svc')
    const receiver = new Receiver({ isServer: true })
    const message = new Promise((resolve) => receiver.once('message', resolve))
    receiver.write(clientFrame(payload))
    expect(Buffer.compare((await message) as Buffer, payload)).toBe(0)
  })

  it.each([5, 126, 70_000])('frame of a server is read when it has come whole: %i bytes', (length) => {
    const payload = Buffer.alloc(length, 'svc')
    const options = { fin: true, opcode: 2, mask: false, readOnly: true, rsv1: false }
    const frame = Buffer.concat(Sender.frame(payload, options))
    const two = Buffer.concat([frame, frame])
    const first = readServerFrame(two, 0)
    expect([first?.kind, first?.end, first?.payload.equals(payload)]).toEqual(['binary', frame.length, true])
    expect(readServerFrame(two, frame.length)?.end).toBe(two.length)
    for (const cut of [0, 1, 3, frame.length - 1])
      expect(readServerFrame(frame.subarray(0, cut), 0)).toBeUndefined()
  })

  it('begins with a request that shows who calls', () => {
    const request = upgradeRequest({ path: '/agent', protocol: 'svc.agent.v1', bearer: token }).toString()
    const header = (name: string) => new RegExp(`^${name}: (.*)\\r$`, 'm').exec(request)?.[1] ?? ''
    const said = { authorization: header('Authorization'), protocol: header('Sec-WebSocket-Protocol') }
    expect(readGreeting(said, '::1')).toMatchObject({ deviceId, tokenSha256: tokenHash(token) })
    expect(readUpgrade(Buffer.from('HTTP/1.1 101 Switching Protocols\r\n\r\nrest'))).toEqual({
      status: 101,
      end: 36,
    })
    expect(readUpgrade(Buffer.from('HTTP/1.1 101 Switching Protocols\r\n'))).toBeUndefined()
  })
})

describe('an MQTT packet', () => {
  it('of a client says what the gateway reads', () => {
    const packet = connect({
      clientId: deviceId,
      user: { name: deviceId, password: token },
      keepaliveSeconds: 1_200,
    })
    expect(readConnect(packet)).toEqual({ deviceId, tokenSha256: tokenHash(token) })
    const after = Buffer.concat([subscribe(`d/${deviceId}/down`), publish(`d/${deviceId}/up`, heartbeat)])
    expect(new Framing().pass(after, 0)).toBe(after.length)
  })

  it('of the gateway is read when it has come whole', () => {
    const packet = gatewayPublishes(`d/${deviceId}/down`, heartbeat)
    const read = readPacket(packet, 0)
    expect(read).toMatchObject({ type: packetTypes.publish, end: packet.length })
    expect(decodeEnvelope(payloadOf(read?.body ?? Buffer.alloc(2)))).toEqual(decodeEnvelope(heartbeat))
    for (let cut = 0; cut < packet.length; cut++)
      expect(readPacket(packet.subarray(0, cut), 0)).toBeUndefined()
  })
})
