/** What a client sends and gets in MQTT 3.1.1, by hand: a library's own work would be measured along with the server's. */

/** Control packet types: §2.2.1. */
export const packetTypes = { connect: 1, connack: 2, publish: 3, puback: 4, subscribe: 8, suback: 9 } as const

/** A UTF-8 string behind its length: §1.5.3. */
export const text = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes])
}

/** Any packet: its type, the four bits beside that, and what follows the remaining length (§2.2). */
export function packet(type: number, flags: number, body: Buffer): Buffer {
  const size: number[] = []
  let rest = body.length
  for (; rest > 0x7f; rest >>>= 7) size.push((rest & 0x7f) | 0x80)
  return Buffer.concat([Buffer.from([(type << 4) | flags, ...size, rest]), body])
}

export interface Client {
  clientId: string
  /** with a password */
  user?: { name: string; password: string } | undefined
  keepaliveSeconds: number
}

const [cleanSession, withUser] = [0x02, 0xc0]

/** CONNECT: §3.1. */
export const connect = ({ clientId, user, keepaliveSeconds }: Client): Buffer =>
  packet(
    packetTypes.connect,
    0,
    Buffer.concat([
      text('MQTT'),
      Buffer.from([4, cleanSession | (user ? withUser : 0), keepaliveSeconds >> 8, keepaliveSeconds & 0xff]),
      text(clientId),
      ...(user ? [text(user.name), text(user.password)] : []),
    ]),
  )

/** SUBSCRIBE to one topic at QoS 0: §3.8. */
export const subscribe = (topic: string): Buffer =>
  packet(packetTypes.subscribe, 0x2, Buffer.concat([Buffer.from([0, 1]), text(topic), Buffer.from([0])]))

/** PUBLISH at QoS 0: §3.3. */
export const publish = (topic: string, payload: Uint8Array): Buffer =>
  packet(packetTypes.publish, 0, Buffer.concat([text(topic), payload]))

export interface ServerPacket {
  type: number
  /** behind the fixed header */
  body: Buffer
  end: number
}

/** The packet that begins at `at`; undefined while it has not come whole. */
export function readPacket(bytes: Buffer, at: number): ServerPacket | undefined {
  const head = bytes[at]
  if (head === undefined) return undefined
  let length = 0
  for (let n = 0; n < 4; n++) {
    const byte = bytes[at + 1 + n]
    if (byte === undefined) return undefined
    length += (byte & 0x7f) << (7 * n)
    if (byte & 0x80) continue
    const start = at + 2 + n
    const end = start + length
    return bytes.length < end ? undefined : { type: head >> 4, body: bytes.subarray(start, end), end }
  }
  throw new RangeError('a remaining length of more than four bytes')
}

/** What a PUBLISH at QoS 0 carries. */
export const payloadOf = (body: Buffer): Buffer => body.subarray(2 + body.readUInt16BE(0))
