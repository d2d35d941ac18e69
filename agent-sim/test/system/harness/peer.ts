import { deviceIdOf, encodeBody, svc, withSeq } from '@svc/proto'
import { connectAsync } from 'mqtt'
import { WebSocket } from 'ws'

/** A bare connection of a device, that says whatever a test wants. */
export interface Peer {
  send(frame: Uint8Array): void
  /** all that came */
  readonly received: readonly svc.v1.Envelope[]
  /** Says Hello, with more than is needed; the answer, or undefined when there was none. */
  greet(more?: svc.v1.IHello): Promise<svc.v1.Envelope | undefined>
  /** Sends a heartbeat each so often, until it is closed. */
  beat(everyMs: number): void
  /** the close code */
  readonly closed: Promise<number>
  /** Sends a heartbeat; whether it was answered before the connection was gone. */
  isHeard(): Promise<boolean>
  /** Ends the WebSocket in order, without a word to the gateway. */
  end(): void
  /** Cuts the wire. */
  drop(): void
  /** Reads nothing more, and answers nothing: what is left of a connection whose network is gone. */
  freeze(): void
}

/**
 * Connects with a device's token; or the HTTP status of the refusal.
 *
 * @param localAddress from which it comes; any of 127.0.0.0/8
 */
export const dial = (url: string, token: string, localAddress = '127.0.0.1'): Promise<Peer | number> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const socket = new WebSocket(url, 'svc.agent.v1', { headers, localAddress })
    const closed = new Promise<number>((done) => socket.once('close', done))
    const received: svc.v1.Envelope[] = []
    socket.on('message', (data: Buffer) => received.push(svc.v1.Envelope.decode(data)))
    const first = new Promise<svc.v1.Envelope | undefined>((done) =>
      socket.once('message', () => done(received[0])),
    )
    socket.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0)
      socket.terminate()
    })
    socket.once('error', reject)
    socket.once('open', () =>
      resolve({
        send: (frame) => socket.send(frame),
        received,
        greet: (more) => {
          const hello = { protocolMin: 1, protocolMax: 1, agentVersion: '0.0.0', os: 'linux', arch: 'amd64' }
          socket.send(withSeq(1, encodeBody({ hello: { ...hello, ...more } })))
          return Promise.race([first, closed.then(() => undefined)])
        },
        beat: (everyMs) => {
          const timer = setInterval(() => socket.send(withSeq(2, encodeBody({ heartbeat: {} }))), everyMs)
          void closed.then(() => clearInterval(timer))
        },
        isHeard: () => {
          const acked = new Promise<boolean>((done) =>
            socket.on('message', (data: Buffer) => {
              if (svc.v1.Envelope.decode(data).heartbeatAck) done(true)
            }),
          )
          socket.send(withSeq(2, encodeBody({ heartbeat: {} })))
          return Promise.race([acked, closed.then(() => false)])
        },
        closed,
        end: () => socket.close(),
        drop: () => socket.terminate(),
        freeze: () => socket.pause(),
      }),
    )
  })

/** Whether a token lets one in, over WebSocket or MQTT as the URL says. */
export async function isAdmitted(url: string, token: string): Promise<boolean> {
  if (url.startsWith('mqtt')) return isAdmittedOverMqtt(url, token)
  const peer = await dial(url, token)
  if (typeof peer === 'number') return false
  const answer = await peer.greet()
  peer.drop()
  return Boolean(answer?.welcome)
}

async function isAdmittedOverMqtt(url: string, token: string): Promise<boolean> {
  const clientId = deviceIdOf(token) ?? ''
  const device = { clientId, username: clientId, password: token, protocolVersion: 4 as const }
  try {
    // Rejects with the return code of the CONNACK.
    const client = await connectAsync(url, { ...device, reconnectPeriod: 0 })
    client.end(true)
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === badCredential) return false
    throw error
  }
}

/** MQTT 3.1.1 §3.2.2.3: bad user name or password. */
const badCredential = 4
