import { encodeBody, withSeq } from '@svc/proto'
import * as mqtt from '../../../../bench/src/wire/mqtt.ts'
import type { Identity } from '../ledgers.ts'

/** What is to become of it: the reason that the gateway gives, or `kept`; `closed`: ended without a word, as nobody is there to read one. */
export type PacketFate = string

interface PacketCase {
  bytes: (device: Identity, victim: Identity) => Buffer
  fate: PacketFate
  /** a return code of SUBACK that is to come */
  suback?: number
}

const { text, packet, packetTypes: types } = mqtt
const beat = withSeq(2, encodeBody({ heartbeat: {} }))
const number = Buffer.from([0, 9])
const up = ({ deviceId }: Identity) => text(`d/${deviceId}/up`)
const published = (flags: number, ...body: Uint8Array[]) => packet(types.publish, flags, Buffer.concat(body))
const subscribed = (flags: number, topic: string | Buffer, qos = 0) =>
  packet(
    types.subscribe,
    flags,
    Buffer.concat([number, typeof topic === 'string' ? text(topic) : topic, Buffer.from([qos])]),
  )
const raw =
  (...bytes: number[]) =>
  () =>
    Buffer.from(bytes)

/** What an admitted client says over MQTT that it must not (docs/decisions/0014; MQTT 3.1.1). */
export const packets: Record<string, PacketCase> = {
  'a remaining length of five bytes': {
    bytes: raw(0x30, 0x80, 0x80, 0x80, 0x80, 1),
    fate: 'MALFORMED_FRAME',
  },
  'a packet larger than any frame': { bytes: raw(0x30, 0xff, 0xff, 0xff, 0x7f), fate: 'OVERSIZED_FRAME' },
  'a type that is reserved': { bytes: raw(0x00, 0), fate: 'UNEXPECTED_FRAME' },
  'a type of version 5': { bytes: raw(0xf0, 0), fate: 'UNEXPECTED_FRAME' },
  'a second CONNECT': {
    bytes: ({ deviceId, deviceToken }) =>
      mqtt.connect({
        clientId: deviceId,
        user: { name: deviceId, password: deviceToken },
        keepaliveSeconds: 9,
      }),
    fate: 'UNEXPECTED_FRAME',
  },
  'a packet that only a server sends': { bytes: raw(0x20, 2, 0, 0), fate: 'UNEXPECTED_FRAME' },
  'a PUBACK of nothing': { bytes: raw(0x40, 2, 0, 9), fate: 'UNEXPECTED_FRAME' },
  'a PUBREL of nothing': { bytes: raw(0x62, 2, 0, 9), fate: 'UNEXPECTED_FRAME' },
  'QoS 2': { bytes: (me) => published(0x4, up(me), number, beat), fate: 'UNEXPECTED_FRAME' },
  'QoS 3': { bytes: (me) => published(0x6, up(me), number, beat), fate: 'MALFORMED_FRAME' },
  'QoS 1 without a number': {
    bytes: (me) => published(0x2, up(me), Buffer.from([0, 0]), beat),
    fate: 'MALFORMED_FRAME',
  },
  retained: { bytes: (me) => published(0x1, up(me), beat), fate: 'UNEXPECTED_FRAME' },
  'to another device': {
    bytes: (_, { deviceId }) => published(0, text(`d/${deviceId}/down`), beat),
    fate: 'UNEXPECTED_FRAME',
  },
  'as another device': {
    bytes: (_, { deviceId }) => published(0, text(`d/${deviceId}/up`), beat),
    fate: 'UNEXPECTED_FRAME',
  },
  'to all devices': { bytes: () => published(0, text('d/+/up'), beat), fate: 'MALFORMED_FRAME' },
  'to the broker': { bytes: () => published(0, text('$SYS/x'), beat), fate: 'UNEXPECTED_FRAME' },
  'to no topic': { bytes: () => published(0, text(''), beat), fate: 'MALFORMED_FRAME' },
  'a topic beyond its packet': {
    bytes: () => published(0, Buffer.from([0xff, 0xff, 0x64])),
    fate: 'MALFORMED_FRAME',
  },
  'a topic that is no UTF-8': {
    bytes: () => published(0, Buffer.from([0, 2, 0xc0, 0x80]), beat),
    fate: 'UNEXPECTED_FRAME',
  },
  'a topic alias of version 5': {
    bytes: (me) => published(0, up(me), Buffer.from([3, 0x23, 0, 1]), beat),
    fate: 'MALFORMED_FRAME',
  },
  'SUBSCRIBE with other bits': {
    bytes: ({ deviceId }) => subscribed(0, `d/${deviceId}/down`),
    fate: 'MALFORMED_FRAME',
  },
  'SUBSCRIBE to nothing': { bytes: () => packet(types.subscribe, 2, number), fate: 'MALFORMED_FRAME' },
  'SUBSCRIBE at QoS 3': {
    bytes: ({ deviceId }) => subscribed(2, `d/${deviceId}/down`, 3),
    fate: 'MALFORMED_FRAME',
  },
  'SUBSCRIBE at QoS 2': {
    bytes: ({ deviceId }) => subscribed(2, `d/${deviceId}/down`, 2),
    fate: 'kept',
    suback: 0x80,
  },
  'SUBSCRIBE to everything': { bytes: () => subscribed(2, '#'), fate: 'kept', suback: 0x80 },
  'SUBSCRIBE to all devices': { bytes: () => subscribed(2, 'd/+/down'), fate: 'kept', suback: 0x80 },
  'SUBSCRIBE to another device': {
    bytes: (_, { deviceId }) => subscribed(2, `d/${deviceId}/down`),
    fate: 'kept',
    suback: 0x80,
  },
  'SUBSCRIBE to the broker': { bytes: () => subscribed(2, '$SYS/#'), fate: 'kept', suback: 0x80 },
  'SUBSCRIBE as a group': {
    bytes: ({ deviceId }) => subscribed(2, `$share/g/d/${deviceId}/down`),
    fate: 'kept',
    suback: 0x80,
  },
  'a SUBSCRIBE longer than any': { bytes: raw(0x82, 0xff, 0xff, 3), fate: 'OVERSIZED_FRAME' },
  'UNSUBSCRIBE from nothing': { bytes: () => packet(10, 2, number), fate: 'MALFORMED_FRAME' },
  'a PINGREQ with content': { bytes: raw(0xc0, 1, 0), fate: 'MALFORMED_FRAME' },
  'a PINGREQ with other bits': { bytes: raw(0xc1, 0), fate: 'MALFORMED_FRAME' },
  'a DISCONNECT with content': { bytes: raw(0xe0, 1, 0), fate: 'MALFORMED_FRAME' },
  'the same packet twice': {
    bytes: (me) =>
      Buffer.concat([published(0x2, up(me), number, beat), published(0xa, up(me), number, beat)]),
    fate: 'kept',
  },
}

interface ConnectCase {
  bytes: (device: Identity) => Buffer
  /** the reason that a WebSocket is closed with */
  reason: string
  /** the return code over TCP; undefined: it is ended without one */
  connack?: number
}

interface ConnectParts {
  name?: string
  level?: number
  flags?: number
  clientId?: string
  user?: string
  password?: string
  behind?: Buffer
}

const connectOf = ({ deviceId, deviceToken }: Identity, parts: ConnectParts): Buffer => {
  const { name = 'MQTT', level = 4, flags = 0xc2, clientId = deviceId, user = deviceId } = parts
  const { password = deviceToken, behind = Buffer.alloc(0) } = parts
  const head = Buffer.from([level, flags, 0, 60])
  return packet(1, 0, Buffer.concat([text(name), head, text(clientId), text(user), text(password), behind]))
}

const connecting = (parts: ConnectParts) => (device: Identity) => connectOf(device, parts)
const other = '00000000-0000-7000-8000-000000000000'

/** How a client may begin that it must not. */
export const connects: Record<string, ConnectCase> = {
  'no CONNECT at first': { bytes: raw(0xc0, 0), reason: 'UNEXPECTED_FRAME' },
  'CONNECT with a will': { bytes: connecting({ flags: 0xc6 }), reason: 'UNEXPECTED_FRAME', connack: 5 },
  'CONNECT for a session that is kept': {
    bytes: connecting({ flags: 0xc0 }),
    reason: 'UNEXPECTED_FRAME',
    connack: 5,
  },
  'CONNECT with a reserved flag': { bytes: connecting({ flags: 0xc3 }), reason: 'MALFORMED_FRAME' },
  'CONNECT as another client': {
    bytes: connecting({ clientId: other }),
    reason: 'CREDENTIAL_INVALID',
    connack: 4,
  },
  'CONNECT as another user': { bytes: connecting({ user: other }), reason: 'CREDENTIAL_INVALID', connack: 4 },
  'CONNECT with no token': {
    bytes: connecting({ password: 'svca_x' }),
    reason: 'CREDENTIAL_INVALID',
    connack: 4,
  },
  'CONNECT of version 5': { bytes: connecting({ level: 5 }), reason: 'PROTOCOL_VERSION', connack: 0x84 },
  'CONNECT of version 3': {
    bytes: connecting({ name: 'MQIsdp', level: 3 }),
    reason: 'PROTOCOL_VERSION',
    connack: 1,
  },
  'CONNECT of something else': { bytes: connecting({ name: 'AMQP' }), reason: 'MALFORMED_FRAME' },
  'CONNECT with more behind': { bytes: connecting({ behind: Buffer.from([0]) }), reason: 'MALFORMED_FRAME' },
  'CONNECT with less': {
    bytes: (device) => packet(1, 0, connectOf(device, {}).subarray(3, 40)),
    reason: 'MALFORMED_FRAME',
  },
  'a CONNECT larger than a Hello': { bytes: raw(0x10, 0x81, 0x80, 1), reason: 'OVERSIZED_FRAME' },
  'a CONNECT whose length does not end': {
    bytes: raw(0x10, 0x80, 0x80, 0x80, 0x80),
    reason: 'MALFORMED_FRAME',
  },
  'an HTTP request': { bytes: () => Buffer.from('GET / HTTP/1.1\r\n\r\n'), reason: 'UNEXPECTED_FRAME' },
}
