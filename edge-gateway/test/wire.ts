import { randomBytes, randomInt } from 'node:crypto'
import { request } from 'node:http'
import { encodeBody, makeDeviceToken, svc, tokenHash, withSeq } from '@svc/proto'
import { WebSocket } from 'ws'
import { subprotocol } from '../src/transport/link.ts'
import type { PairPeer, PairTransport } from '../src/transport/pair.ts'

/** A device as its agent knows it. */
export interface Device {
  id: string
  token: string
}

/** A device id that ends in the given hex digit, which is its shard. Random before it: tests share one Redis. */
export const newDevice = (shard = randomInt(16)): Device => {
  const id = `018f0000-0000-7000-8000-${randomBytes(6).toString('hex').slice(1)}${shard.toString(16)}`
  return { id, token: makeDeviceToken(id) }
}

export const sha256 = (device: Device): Buffer => tokenHash(device.token)

export interface Headers {
  authorization?: string
  protocol?: string
}

/** Dials, and gets an agent's end or the HTTP status of the refusal. */
export type Dial = (headers: Headers) => Promise<PairPeer | number>

export const headersOf = (device: Device): Headers => ({
  authorization: `Bearer ${device.token}`,
  protocol: subprotocol,
})

export const dialPair =
  (transport: PairTransport, address?: string): Dial =>
  ({ authorization = '', protocol = '' }) =>
    transport.dial({ authorization, protocol }, address)

/** A real client over a real socket. */
export const dialSocket =
  (url: string, more: Record<string, string | string[]> = {}): Dial =>
  ({ authorization, protocol }) =>
    new Promise((resolve, reject) => {
      const headers = { ...more, ...(authorization === undefined ? {} : { authorization }) }
      const socket = new WebSocket(url, protocol ? protocol.split(',') : [], {
        headers,
        rejectUnauthorized: false,
      })
      const arrived: Uint8Array[] = []
      const waiting: { resolve: (frame: Uint8Array) => void; reject: (error: Error) => void }[] = []
      let ended = false
      const closed = new Promise<number>((done) => {
        socket.on('close', (code) => {
          ended = true
          for (const { reject: fail } of waiting.splice(0)) fail(new Error('the connection has ended'))
          done(code)
        })
      })
      socket.on('message', (data: Buffer) => {
        const frame = Uint8Array.from(data)
        const next = waiting.shift()
        if (next) next.resolve(frame)
        else arrived.push(frame)
      })
      socket.on('unexpected-response', (_request, response) => {
        resolve(response.statusCode ?? 0)
        socket.terminate()
      })
      socket.on('error', reject)
      socket.on('open', () =>
        resolve({
          send: (frame) => socket.send(frame),
          next: () => {
            const frame = arrived.shift()
            if (frame) return Promise.resolve(frame)
            if (ended) return Promise.reject(new Error('the connection has ended'))
            return new Promise((done, fail) => waiting.push({ resolve: done, reject: fail }))
          },
          pause: () => socket.pause(),
          resume: () => socket.resume(),
          close: () => socket.close(),
          closed,
        }),
      )
    })

/** An agent that speaks the protocol, on either transport. */
export class Agent {
  readonly peer: PairPeer
  #seq = 0

  constructor(peer: PairPeer) {
    this.peer = peer
  }

  send(body: Omit<svc.v1.IEnvelope, 'seq'>): void {
    this.peer.send(withSeq(++this.#seq, encodeBody(body)))
  }

  async next(): Promise<svc.v1.Envelope> {
    return svc.v1.Envelope.decode(await this.peer.next())
  }

  hello(hello: svc.v1.IHello = { protocolMin: 1, protocolMax: 1, agentVersion: '1.0.0', os: 'linux' }): void {
    this.send({ hello })
  }

  /** Says Hello and waits for the answer. */
  async greet(hello?: svc.v1.IHello): Promise<svc.v1.Envelope> {
    this.hello(hello)
    return this.next()
  }
}

/** Connects a device's agent; fails when it is turned away before the upgrade. */
export async function connect(dial: Dial, device: Device): Promise<Agent> {
  const peer = await dial(headersOf(device))
  if (typeof peer === 'number') throw new Error(`turned away with ${peer}`)
  return new Agent(peer)
}

/** The answer to a plain GET. */
export const get = (url: string): Promise<{ status: number; body: unknown }> =>
  new Promise((resolve, reject) => {
    const outgoing = request(url, (answer) => {
      let text = ''
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, body: text ? JSON.parse(text) : undefined }),
      )
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
