/** The control packet types that matter here: MQTT 3.1.1 §2.2.1. */
export const packetTypes = {
  connect: 1,
  publish: 3,
  subscribe: 8,
  unsubscribe: 10,
  pingreq: 12,
  disconnect: 14,
} as const

/** A PUBACK: §3.4. */
export const puback = (messageId: number): Buffer => Buffer.from([0x40, 2, messageId >> 8, messageId & 0xff])

/** A PUBLISH at QoS 0, neither retained nor repeated: §3.3. */
export function publish(topic: string, payload: Uint8Array): Buffer {
  const topicBytes = Buffer.byteLength(topic)
  const head = [0x30, ...lengthBytes(2 + topicBytes + payload.length), topicBytes >> 8, topicBytes & 0xff]
  const packet = Buffer.allocUnsafe(head.length + topicBytes + payload.length)
  packet.set(head)
  packet.write(topic, head.length)
  packet.set(payload, head.length + topicBytes)
  return packet
}

/** A remaining length, seven bits to a byte: §2.2.3. */
function lengthBytes(length: number): number[] {
  const bytes: number[] = []
  for (let rest = length; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest]
    bytes.push((rest & 0x7f) | 0x80)
  }
}
