import { connect as connectTcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { createWebSocketStream, WebSocket } from 'ws'
import type { PairPeer } from '../../src/transport/pair.ts'
import type { Device, Dial } from '../wire.ts'

/** A packet as it came: its first byte, and what is behind the length. */
export interface Packet {
  head: number
  body: Buffer
}

const text = (value: string | Buffer) => {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes])
}

/** Any packet, right or wrong. */
export function packet(head: number, ...parts: (Buffer | Uint8Array | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  const length: number[] = []
  for (let rest = body.length; ; rest >>>= 7) {
    length.push(rest < 0x80 ? rest : (rest & 0x7f) | 0x80)
    if (rest < 0x80) break
  }
  return Buffer.concat([Buffer.from([head, ...length]), body])
}

export interface ConnectMore {
  protocol?: string
  level?: number
  /** instead of clean session, user name and password */
  flags?: number
  keepalive?: number
  clientId?: string
  userName?: string
  password?: string
  /** of a will, between client id and user name */
  will?: Buffer
  after?: Buffer
}

export function connectPacket({ id, token }: Device, more: ConnectMore = {}): Buffer {
  const { protocol = 'MQTT', level = 4, flags = 0xc2, keepalive = 60 } = more
  return packet(
    0x10,
    text(protocol),
    [level, flags, keepalive >> 8, keepalive & 0xff],
    text(more.clientId ?? id),
    more.will ?? [],
    text(more.userName ?? id),
    text(more.password ?? token),
    more.after ?? [],
  )
}

const numbered = (id: number) => [id >> 8, id & 0xff]

export const subscribePacket = (topic: string, { id = 1, qos = 0 } = {}): Buffer =>
  packet(0x82, numbered(id), text(topic), [qos])

export const publishPacket = (
  topic: string,
  payload: Uint8Array,
  { id = 0, qos = 0, retain = false } = {},
): Buffer => packet(0x30 | (qos << 1) | Number(retain), text(topic), qos > 0 ? numbered(id) : [], payload)

export const pingreq: Buffer = packet(0xc0)
export const disconnect: Buffer = packet(0xe0)

/** A client that says exactly the bytes it is told to, and reads packets. */
export class RawClient {
  readonly stream: Duplex
  readonly closed: Promise<void>
  #bytes = Buffer.alloc(0)
  readonly #packets: Packet[] = []
  #waiting: ((packet: Packet | undefined) => void)[] = []
  #over = false

  constructor(stream: Duplex) {
    this.stream = stream
    stream.on('data', (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes])
      for (let next = this.#take(); next; next = this.#take()) this.#arrive(next)
    })
    stream.on('error', () => {})
    stream.on('end', () => stream.destroy())
    this.closed = new Promise((resolve) => stream.on('close', resolve))
    void this.closed.then(() => {
      this.#over = true
      for (const resolve of this.#waiting.splice(0)) resolve(undefined)
    })
  }

  say(...packets: Uint8Array[]): void {
    if (!this.stream.destroyed) this.stream.write(Buffer.concat(packets))
  }

  /** The next packet; undefined when the connection has ended and nothing is left. */
  next(): Promise<Packet | undefined> {
    const packet = this.#packets.shift()
    if (packet || this.#over) return Promise.resolve(packet)
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** What the next packet holds: undefined when there is none, or it is not of that type. */
  async expect(type: number): Promise<Buffer | undefined> {
    const packet = await this.next()
    return packet && packet.head >> 4 === type ? packet.body : undefined
  }

  /** The return code of the CONNACK. */
  async connack(): Promise<number | undefined> {
    return (await this.expect(2))?.[1]
  }

  /** The payload of the next PUBLISH, which must be on that topic. */
  async delivered(topic: string): Promise<Buffer> {
    const body = await this.expect(3)
    const length = body?.readUInt16BE(0) ?? 0
    if (body?.subarray(2, 2 + length).toString() !== topic) throw new Error(`nothing on ${topic}`)
    return body.subarray(2 + length)
  }

  #take(): Packet | undefined {
    let length = 0
    for (let n = 1; n < this.#bytes.length; n++) {
      const byte = this.#bytes[n] ?? 0
      length += (byte & 0x7f) * 0x80 ** (n - 1)
      if (byte >= 0x80) continue
      if (this.#bytes.length < n + 1 + length) return undefined
      const packet = { head: this.#bytes[0] ?? 0, body: this.#bytes.subarray(n + 1, n + 1 + length) }
      this.#bytes = this.#bytes.subarray(n + 1 + length)
      return packet
    }
    return undefined
  }

  #arrive(packet: Packet): void {
    const waiting = this.#waiting.shift()
    if (waiting) waiting(packet)
    else this.#packets.push(packet)
  }
}

/** Opens a connection and says nothing. Rejects when nobody listens; an HTTP status is the error’s `status`. */
interface Opening {
  localAddress?: string
  /** of the request, over WebSocket */
  headers?: Record<string, string>
}

export function openRaw(url: string, { localAddress, headers = {} }: Opening = {}): Promise<RawClient> {
  const { protocol, hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    if (protocol.startsWith('ws')) {
      const socket = new WebSocket(url, 'mqtt', { headers, rejectUnauthorized: false })
      socket.on('unexpected-response', (_request, { statusCode }) =>
        reject(Object.assign(new Error(`answered ${statusCode}`), { status: statusCode })),
      )
      socket.on('error', reject)
      socket.on('open', () => {
        const client = new RawClient(createWebSocketStream(socket))
        resolve(Object.assign(client, { code: new Promise((done) => socket.on('close', done)) }))
      })
      return
    }
    const options = { host: hostname, port: Number(port), ...(localAddress ? { localAddress } : {}) }
    const socket =
      protocol === 'mqtts:'
        ? connectTls({ ...options, rejectUnauthorized: false }, () => resolve(new RawClient(socket)))
        : connectTcp(options, () => resolve(new RawClient(socket)))
    socket.on('error', reject)
  })
}

export const up = ({ id }: Device): string => `d/${id}/up`
export const down = ({ id }: Device): string => `d/${id}/down`

/** Connects a device and subscribes; fails unless it is let in. */
export async function enter(url: string, device: Device, more: ConnectMore = {}): Promise<RawClient> {
  const client = await openRaw(url)
  client.say(connectPacket(device, more))
  const code = await client.connack()
  if (code !== 0) throw new Error(`not let in: ${code}`)
  client.say(subscribePacket(down(device)))
  const granted = await client.expect(9)
  if (granted?.[2] !== 0) throw new Error('not subscribed')
  return client
}

const headersOf = (authorization = '') => {
  const token = authorization.replace(/^Bearer /, '')
  const hex = /^svca_(.{32})_/.exec(token)?.[1] ?? ''
  return { token, id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') }
}

/** Dials as agents of the transport contract do; a refusal is told by the HTTP status that comes nearest. */
export const dialMqtt =
  (url: string, headers: Record<string, string> = {}): Dial =>
  async ({ authorization }) => {
    const device = headersOf(authorization)
    const client = await openRaw(url, { headers }).catch((error: Error & { status?: number }) => {
      if (error.status) return error.status
      throw error
    })
    if (typeof client === 'number') return client
    client.say(connectPacket(device))
    const code = await client.connack()
    if (code !== 0) return code === 4 ? 401 : 503
    client.say(subscribePacket(down(device)))
    await client.expect(9)
    return peerOf(client, device)
  }

const peerOf = (client: RawClient, device: Device): PairPeer => ({
  send: (frame) => client.say(publishPacket(up(device), frame)),
  next: () => client.delivered(down(device)),
  pause: () => client.stream.pause(),
  resume: () => client.stream.resume(),
  close: () => client.stream.end(disconnect),
  closed: (client as RawClient & { code?: Promise<number> }).code ?? client.closed.then(() => 0),
})
