import { deviceIdOf, encodeBody, svc, withSeq } from '@svc/proto'
import { connectAsync, type IClientPublishOptions, type MqttClient } from 'mqtt'
import { until } from './until.ts'

type Body = Omit<svc.v1.IEnvelope, 'seq'>

/** A device on a plain MQTT client, that says whatever a test wants. */
export interface Hand {
  readonly client: MqttClient
  readonly received: readonly svc.v1.Envelope[]
  /** Publishes on its own topic; resolves when it is acknowledged. */
  readonly say: (body: Body) => Promise<unknown>
  readonly publish: (topic: string, payload: Uint8Array, options?: IClientPublishOptions) => void
  /** The first frame of its kind that came, or comes. */
  frame<K extends NonNullable<svc.v1.Envelope['body']>>(kind: K): Promise<NonNullable<svc.v1.Envelope[K]>>
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>
  /** Cuts the wire. */
  drop(): void
}

/** Connects with a device's token and subscribes. Rejects where the gateway turns it away. */
export async function byHand(url: string, token: string): Promise<Hand> {
  const deviceId = deviceIdOf(token) ?? ''
  const login = { clientId: deviceId, username: deviceId, password: token, protocolVersion: 4 as const }
  const client = await connectAsync(url, { ...login, reconnectPeriod: 0 })
  const received: svc.v1.Envelope[] = []
  client.on('error', () => {}) // `closed` says that it has ended
  client.on('message', (_topic, payload) => received.push(svc.v1.Envelope.decode(payload)))
  const closed = new Promise<void>((resolve) => client.once('close', resolve))
  await client.subscribeAsync(`d/${deviceId}/down`, { qos: 1 })
  let seq = 0
  return {
    client,
    received,
    closed,
    say: (body) =>
      client.publishAsync(`d/${deviceId}/up`, Buffer.from(withSeq((seq += 1), encodeBody(body))), { qos: 1 }),
    publish: (topic, payload, options = { qos: 0 }) =>
      void client.publish(topic, Buffer.from(payload), options, () => {}),
    frame: async (kind) => {
      const find = () => received.find((envelope) => envelope[kind])?.[kind]
      await until(`a frame of kind ${kind} comes`, () => Boolean(find()))
      return find() as NonNullable<svc.v1.Envelope[typeof kind]>
    },
    drop: () => void client.end(true),
  }
}
