import { connect as dial, type Socket } from 'node:net'
import * as mqtt from '../../../../bench/src/wire/mqtt.ts'
import {
  clientFrame,
  readServerFrame,
  readUpgrade,
  upgradeRequest,
} from '../../../../bench/src/wire/websocket.ts'
import type { Identity } from '../ledgers.ts'
import { decode, type Said } from './decode.ts'
import type { Transport } from './model.ts'
import type { Schema } from './schema.ts'

/** Where the gateway's three ways in are. */
export type Doors = Record<Transport, string>

/** What a raw socket has seen come. */
export interface Seen {
  /** HTTP status of the upgrade */
  status?: number
  /** return code of CONNACK */
  connack?: number
  /** return codes of the SUBACKs, as they came */
  subacks: number[]
  welcome?: Said
  /** HeartbeatAcks */
  answers: number
  pubacks: number
  pingresps: number
  refused?: Said
  /** of the WebSocket's close frame */
  closeCode?: number
  /** frames that are none of these */
  others: Said[]
}

export interface Bearing {
  transport: Transport
  url: string
  schema: Schema
  identity: Identity
  /** of this machine; absent: whatever the system takes */
  localAddress?: string | undefined
}

/** One connection in the proof's hands, down to its bytes: it says what it is told to, and keeps what came. */
export class Peer {
  readonly socket: Socket
  readonly seen: Seen = { subacks: [], answers: 0, pubacks: 0, pingresps: 0, others: [] }
  readonly transport: Transport
  readonly identity: Identity
  readonly #schema: Schema
  #rest: Buffer = Buffer.alloc(0)
  #packets: Buffer = Buffer.alloc(0)
  #waiting: { holds: () => boolean; tell: (held: boolean) => void }[] = []
  isOver = false

  private constructor(socket: Socket, { transport, identity, schema }: Bearing) {
    this.socket = socket
    this.transport = transport
    this.identity = identity
    this.#schema = schema
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => this.#read(bytes))
    socket.on('error', () => undefined) // `close` follows
    socket.on('close', () => this.#end())
  }

  /** Resolves with a socket that is open and has said nothing; rejects where nobody listens. */
  static open(bearing: Bearing): Promise<Peer> {
    const { hostname, port } = new URL(bearing.url)
    const { localAddress } = bearing
    return new Promise((resolve, reject) => {
      const socket = dial({ host: hostname, port: Number(port), ...(localAddress && { localAddress }) })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new Peer(socket, bearing))
      })
    })
  }

  get topic(): string {
    return `d/${this.identity.deviceId}/up`
  }

  /** The upgrade, where there is one; false: it was turned away. */
  async upgrade(token = this.identity.deviceToken): Promise<boolean> {
    if (this.transport === 'mqtt') return true
    const svc = this.transport === 'websocket'
    const way = svc
      ? { path: '/agent', protocol: 'svc.agent.v1', bearer: token }
      : { path: '/mqtt', protocol: 'mqtt' }
    this.write(upgradeRequest(way))
    await this.until(() => this.seen.status !== undefined)
    return this.seen.status === 101
  }

  /** Says a frame, or over MQTT a packet, as the wire wants it. */
  frame(bytes: Uint8Array): Buffer {
    return this.transport === 'mqtt' ? Buffer.from(bytes) : clientFrame(bytes)
  }

  /** An envelope as this wire carries it. @param messageId over MQTT: asks for an acknowledgement */
  envelope(bytes: Uint8Array, messageId = 0): Buffer {
    return this.transport === 'websocket'
      ? clientFrame(bytes)
      : this.frame(publish(this.topic, bytes, messageId))
  }

  connectPacket(token = this.identity.deviceToken): Buffer {
    const { deviceId } = this.identity
    return mqtt.connect({
      clientId: deviceId,
      user: { name: deviceId, password: token },
      keepaliveSeconds: 300,
    })
  }

  /** Comes in as a device does, and listens; false: it was turned away. @param hello over WebSocket: instead of the usual one */
  async enter(hello: Uint8Array, token = this.identity.deviceToken): Promise<boolean> {
    if (!(await this.upgrade(token))) return false
    if (this.transport === 'websocket') {
      this.write(clientFrame(hello))
      return this.until(() => this.seen.welcome !== undefined)
    }
    this.write(this.frame(this.connectPacket(token)))
    if (!(await this.until(() => this.seen.connack !== undefined)) || this.seen.connack !== 0) return false
    this.write(this.frame(mqtt.subscribe(`d/${this.identity.deviceId}/down`)))
    return this.until(() => this.seen.subacks.length > 0 && this.seen.welcome !== undefined)
  }

  write(bytes: Uint8Array): void {
    if (this.socket.writable) this.socket.write(bytes)
  }

  /** Resolves with true once it holds, with false when the connection ends before, or when that takes too long. */
  until(holds: () => boolean, withinMs = 30_000): Promise<boolean> {
    if (holds()) return Promise.resolve(true)
    if (this.isOver) return Promise.resolve(false)
    return new Promise((resolve) => {
      const timer = setTimeout(() => tell(false), withinMs)
      const tell = (held: boolean) => {
        clearTimeout(timer)
        this.#waiting = this.#waiting.filter((one) => one.tell !== tell)
        resolve(held)
      }
      this.#waiting.push({ holds, tell })
    })
  }

  /** Whether the other side has ended it, by then. */
  ended(withinMs = 30_000): Promise<boolean> {
    return this.until(() => this.isOver, withinMs).then(() => this.isOver)
  }

  /** Why the gateway ended it, by what it said: a close code, a Refused; undefined: it said nothing. */
  get reason(): string | undefined {
    const reasons = this.#schema.enums.get('CloseReason')
    const { refused, closeCode } = this.seen
    if (closeCode !== undefined)
      return closeCode >= 4_000 ? reasons?.get(closeCode - 4_000) : `code ${closeCode}`
    return refused && reasons?.get(Number(refused['reason'] ?? 0n))
  }

  reset(): void {
    this.socket.resetAndDestroy()
  }

  #end(): void {
    this.isOver = true
    this.#look()
    for (const { tell } of this.#waiting) tell(false)
  }

  #look(): void {
    for (const { holds, tell } of this.#waiting) if (holds()) tell(true)
  }

  #read(more: Buffer): void {
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, more]) : more
    this.#rest = Buffer.alloc(0)
    if (this.transport === 'mqtt') this.#readPackets(bytes)
    else {
      if (this.seen.status === undefined) {
        const head = readUpgrade(bytes)
        if (!head) return void (this.#rest = Buffer.from(bytes))
        this.seen.status = head.status
        bytes = bytes.subarray(head.end)
      }
      if (this.seen.status === 101) this.#readFrames(bytes)
    }
    this.#look()
  }

  #readFrames(bytes: Buffer): void {
    let at = 0
    for (let frame = readServerFrame(bytes, at); frame; frame = readServerFrame(bytes, at)) {
      at = frame.end
      if (frame.kind === 'close')
        this.seen.closeCode = frame.payload.length >= 2 ? frame.payload.readUInt16BE() : 1005
      else if (frame.kind !== 'binary') continue
      else if (this.transport === 'websocket') this.#take(frame.payload)
      else this.#readPackets(frame.payload)
    }
    this.#rest = Buffer.from(bytes.subarray(at))
  }

  #readPackets(more: Buffer): void {
    const bytes = this.#packets.length > 0 ? Buffer.concat([this.#packets, more]) : more
    let at = 0
    for (let packet = mqtt.readPacket(bytes, at); packet; packet = mqtt.readPacket(bytes, at)) {
      at = packet.end
      this.#obey(packet)
    }
    this.#packets = Buffer.from(bytes.subarray(at))
  }

  #obey({ type, body }: mqtt.ServerPacket): void {
    const { connack, suback, puback, publish } = mqtt.packetTypes
    if (type === connack) this.seen.connack = body[1] ?? 0
    else if (type === suback) this.seen.subacks.push(...body.subarray(2))
    else if (type === puback) this.seen.pubacks++
    else if (type === pingresp) this.seen.pingresps++
    else if (type === publish) this.#take(mqtt.payloadOf(body))
  }

  #take(bytes: Buffer): void {
    const said = decode(this.#schema, 'Envelope', bytes)
    const body = said?.['body']
    if (body === 'heartbeatAck') this.seen.answers++
    else if (body === 'welcome') this.seen.welcome = said?.['welcome'] as Said
    else if (body === 'refused') this.seen.refused = said?.['refused'] as Said
    else this.seen.others.push(said ?? {})
  }
}

const pingresp = 13

/** A PUBLISH, at QoS 1 where it has a number. */
export const publish = (topic: string, payload: Uint8Array, messageId = 0): Buffer =>
  messageId === 0
    ? mqtt.publish(topic, payload)
    : mqtt.packet(
        mqtt.packetTypes.publish,
        0x2,
        Buffer.concat([mqtt.text(topic), Buffer.from([messageId >> 8, messageId & 0xff]), payload]),
      )
