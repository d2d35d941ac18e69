import fc from 'fast-check'
import { maxHelloBytes, tokenHash } from '@svc/proto'
import { describe, expect, it } from 'vitest'
import { type ConnectMore, connectPacket, packet } from '../../../test/mqtt/client.ts'
import { newDevice } from '../../../test/wire.ts'
import { connectSize, readConnect } from './connect.ts'

const device = newDevice()
const other = newDevice()
const read = (more: ConnectMore) => readConnect(connectPacket(device, more))
const will = Buffer.from([0, 1, 0x74, 0, 1, 0x6d])

describe('a CONNECT', () => {
  it('says who it is', () => {
    expect(read({})).toEqual({ deviceId: device.id, tokenSha256: tokenHash(device.token) })
  })

  it.each<[string, ConnectMore, string, number[] | undefined]>([
    ['another version', { level: 3, protocol: 'MQIsdp' }, 'PROTOCOL_VERSION', [0x20, 2, 0, 1]],
    ['version 5', { level: 5, after: Buffer.from([0]) }, 'PROTOCOL_VERSION', [0x20, 3, 0, 0x84, 0]],
    ['a bridge', { level: 0x84 }, 'PROTOCOL_VERSION', [0x20, 2, 0, 1]],
    ['a will', { flags: 0xc6, will }, 'UNEXPECTED_FRAME', [0x20, 2, 0, 5]],
    ['a session to be kept', { flags: 0xc0 }, 'UNEXPECTED_FRAME', [0x20, 2, 0, 5]],
    ['another client id', { clientId: other.id }, 'CREDENTIAL_INVALID', [0x20, 2, 0, 4]],
    ['another user name', { userName: other.id }, 'CREDENTIAL_INVALID', [0x20, 2, 0, 4]],
    ['another token', { password: other.token }, 'CREDENTIAL_INVALID', [0x20, 2, 0, 4]],
    [
      'a mistyped token',
      { password: `${device.token.slice(0, -1)}!` },
      'CREDENTIAL_INVALID',
      [0x20, 2, 0, 4],
    ],
    ['no client id', { clientId: '' }, 'CREDENTIAL_INVALID', [0x20, 2, 0, 4]],
    ['the reserved flag', { flags: 0xc3 }, 'MALFORMED_FRAME', undefined],
    ['another protocol', { protocol: 'AMQP' }, 'MALFORMED_FRAME', undefined],
    ['something behind it', { after: Buffer.from([0]) }, 'MALFORMED_FRAME', undefined],
    ['fields that its flags do not announce', { flags: 0x82 }, 'MALFORMED_FRAME', undefined],
  ])('with %s is turned down', (_what, more, reason, answer) => {
    expect(read(more)).toEqual({ reason, answer: answer && Buffer.from(answer) })
  })

  it('that ends anywhere before its end is malformed', () => {
    const { length } = connectPacket(device)
    for (let n = 2; n < length - 2; n++) {
      const cut = connectPacket(device).subarray(2, 2 + n)
      expect(readConnect(packet(0x10, cut))).toMatchObject({ reason: 'MALFORMED_FRAME' })
    }
  })

  it('of any bytes whatever is read without harm', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(readConnect(packet(0x10, bytes))).toHaveProperty('reason')
      }),
    )
  })
})

describe('a first packet', () => {
  it('is measured as soon as it says how long it is', () => {
    const bytes = connectPacket(device)
    expect(connectSize(bytes.subarray(0, 0))).toBeUndefined()
    expect(connectSize(bytes.subarray(0, 1))).toBeUndefined()
    expect(connectSize(bytes.subarray(0, 3))).toBe(bytes.length)
    expect(connectSize(packet(0x10, Buffer.alloc(maxHelloBytes)).subarray(0, 4))).toBe(maxHelloBytes + 4)
  })

  it.each([
    ['is no CONNECT', [0x30, 0], 'UNEXPECTED_FRAME'],
    ['is no MQTT', [...Buffer.from('GET /mqtt')], 'UNEXPECTED_FRAME'],
    ['has flags', [0x11, 0], 'UNEXPECTED_FRAME'],
    ['claims 256 MB', [0x10, 0xff, 0xff, 0xff, 0x7f], 'OVERSIZED_FRAME'],
    ['is a little too long', [0x10, 0x81, 0x80, 0x01], 'OVERSIZED_FRAME'],
    ['has a length without end', [0x10, 0x80, 0x80, 0x80, 0x80], 'MALFORMED_FRAME'],
  ])('that %s ends its connection at once', (_what, bytes, reason) => {
    expect(connectSize(Uint8Array.from(bytes))).toBe(reason)
  })
})
