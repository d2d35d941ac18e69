import { deviceIdOf, encodeBody, svc, withSeq } from '@svc/proto'
import { connectAsync } from 'mqtt'
import { WebSocket } from 'ws'

/** A bare connection of a device, that says whatever a test wants. */
export interface Peer {
  send(frame: Uint8Array): void
  /** Says Hello; the answer, or undefined when there was none. */
  greet(): Promise<svc.v1.Envelope | undefined>
  /** Sends a heartbeat each so often, until it is closed. */
  beat(everyMs: number): void
  /** the close code */
  readonly closed: Promise<number>
  /** Cuts the wire. */
  drop(): void
}

/** Connects with a device's token; or the HTTP status of the refusal. */
export const dial = (url: string, token: string): Promise<Peer | number> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url, 'svc.agent.v1', { headers: { authorization: `Bearer ${token}` } })
    const closed = new Promise<number>((done) => socket.once('close', done))
    const first = new Promise<svc.v1.Envelope>((done) =>
      socket.once('message', (data: Buffer) => done(svc.v1.Envelope.decode(data))),
    )
    socket.once('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0)
      socket.terminate()
    })
    socket.once('error', reject)
    socket.once('open', () =>
      resolve({
        send: (frame) => socket.send(frame),
        greet: () => {
          const hello = { protocolMin: 1, protocolMax: 1, agentVersion: '0.0.0', os: 'linux', arch: 'amd64' }
          socket.send(withSeq(1, encodeBody({ hello })))
          return Promise.race([first, closed.then(() => undefined)])
        },
        beat: (everyMs) => {
          const timer = setInterval(() => socket.send(withSeq(2, encodeBody({ heartbeat: {} }))), everyMs)
          void closed.then(() => clearInterval(timer))
        },
        closed,
        drop: () => socket.terminate(),
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
