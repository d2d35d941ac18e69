import type { Duplex } from 'node:stream'
import { generate, type IPublishPacket, type Packet, parser } from 'mqtt-packet'

/** What the client of {@link speakMqtt} says, and how it is answered. */
export interface MqttTalk {
  /** The return code of CONNACK; 0: it is in. */
  connect(client: {
    clientId: string
    username: string
    password: string
    clean: boolean
    keepalive: number
  }): number
  /** It subscribed; false: it may not. */
  subscribe(topic: string, qos: number): boolean
  /** It published; false: it gets no PUBACK. */
  publish(packet: IPublishPacket): boolean
  /** It said DISCONNECT, or the connection is gone. */
  gone(how: 'disconnect' | 'close'): void
}

/** The other end of one MQTT 3.1.1 connection, in the test's hands. */
export interface MqttEnd {
  publish(topic: string, payload: Uint8Array): void
  puback(messageId: number): void
  destroy(): void
}

/** Speaks the server's part of MQTT 3.1.1 on a stream. */
export function speakMqtt(stream: Duplex, talk: MqttTalk): MqttEnd {
  const parse = parser({ protocolVersion: 4 })
  const write = (packet: Packet) => void (stream.writable && stream.write(generate(packet)))
  parse.on('packet', (packet: Packet) => answer(packet))
  parse.on('error', () => stream.destroy())
  stream.on('data', (bytes: Buffer) => parse.parse(bytes))
  stream.on('error', () => stream.destroy())
  stream.on('close', () => talk.gone('close'))

  const answer = (packet: Packet) => {
    if (packet.cmd === 'connect') {
      const { clientId, username = '', password = '', clean = false, keepalive = 0 } = packet
      const returnCode = talk.connect({ clientId, username, password: password.toString(), clean, keepalive })
      write({ cmd: 'connack', returnCode, sessionPresent: false })
      if (returnCode !== 0) stream.end()
    } else if (packet.cmd === 'subscribe') {
      const granted = packet.subscriptions.map(({ topic, qos }) => (talk.subscribe(topic, qos) ? qos : 128))
      write({ cmd: 'suback', messageId: packet.messageId ?? 0, granted })
    } else if (packet.cmd === 'publish') {
      if (talk.publish(packet) && packet.qos === 1) write({ cmd: 'puback', messageId: packet.messageId ?? 0 })
    } else if (packet.cmd === 'pingreq') write({ cmd: 'pingresp' })
    else if (packet.cmd === 'disconnect') {
      talk.gone('disconnect')
      stream.end()
    }
  }
  return {
    publish: (topic, payload) =>
      write({ cmd: 'publish', topic, payload: Buffer.from(payload), qos: 0, dup: false, retain: false }),
    puback: (messageId) => write({ cmd: 'puback', messageId }),
    destroy: () => stream.destroy(),
  }
}
