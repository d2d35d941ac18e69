import { encodeBody, svc, withSeq } from '@svc/proto'
import type { Api } from './api.ts'
import { byHand } from './hand.ts'
import { numbers } from './numbers.ts'
import { dial } from './peer.ts'
import type { System } from './system.ts'
import { until } from './until.ts'

type Body = Omit<svc.v1.IEnvelope, 'seq'>

/** A device that says whatever a test wants, over WebSocket or MQTT. It carries nothing out. */
export interface Voice {
  readonly deviceId: string
  readonly say: (body: Body) => void
  /** those of its kind that came so far */
  of<K extends NonNullable<svc.v1.Envelope['body']>>(kind: K): NonNullable<svc.v1.Envelope[K]>[]
  /** how often the command was offered */
  offers(commandId: string): svc.v1.CommandBody[]
  /** Resolves when it was offered so often. */
  offered(commandId: string, times?: number): Promise<void>
  /** Cuts the wire. */
  readonly drop: () => void
}

export interface Enrolled {
  deviceId: string
  deviceToken: string
}

/** A device that exists by its token alone. @param more of the body, such as `publicKey` */
export const enroll = (
  api: Api,
  system: System,
  hostname = 'by-hand',
  more: object = {},
): Promise<Enrolled> =>
  api.want(201, 'POST', '/agents/enroll', {
    enrollmentKey: system.tenant.enrollmentKey,
    hostname,
    osType: 'linux',
    architecture: 'amd64',
    agentVersion: '0.0.0',
    ...more,
  })

/** Connects, is admitted, and beats from then on. Over what the URL says. */
export async function speak(url: string, { deviceId, deviceToken }: Enrolled): Promise<Voice> {
  const wire = await (url.startsWith('mqtt') ? overMqtt : overWebSocket)(url, deviceToken)
  const { received, say, drop } = wire
  const of: Voice['of'] = (kind) =>
    received.flatMap((envelope) => (envelope[kind] ? [envelope[kind] as never] : []))
  const offers = (commandId: string) =>
    of('command')
      .map(({ body }) => svc.v1.CommandBody.decode(body ?? new Uint8Array()))
      .filter((body) => body.commandId === commandId)
  const beating = setInterval(() => say({ heartbeat: {} }), numbers.heartbeatMs)
  say({ heartbeat: {} })
  await until('its heartbeat is answered', () => of('heartbeatAck').length > 0)
  return {
    deviceId,
    say,
    of,
    offers,
    offered: (commandId, times = 1) =>
      until(`command ${commandId} is offered ${times} times`, () => offers(commandId).length >= times),
    drop: () => {
      clearInterval(beating)
      drop()
    },
  }
}

interface Wire {
  received: readonly svc.v1.Envelope[]
  readonly say: (body: Body) => void
  readonly drop: () => void
}

async function overWebSocket(url: string, token: string): Promise<Wire> {
  const peer = await dial(url, token)
  if (typeof peer === 'number') throw new Error(`turned away with ${peer}`)
  const answer = await peer.greet()
  if (!answer?.welcome) throw new Error('not admitted')
  let seq = 1
  const say = (body: Body) => peer.send(withSeq((seq += 1), encodeBody(body)))
  return { received: peer.received, say, drop: () => peer.drop() }
}

async function overMqtt(url: string, token: string): Promise<Wire> {
  const hand = await byHand(url, token)
  await hand.frame('welcome')
  // Who says it late, on a connection that has ended, is not heard; the test finds out.
  const say = (body: Body) => void hand.say(body).catch(() => undefined)
  return { received: hand.received, say, drop: () => hand.drop() }
}
