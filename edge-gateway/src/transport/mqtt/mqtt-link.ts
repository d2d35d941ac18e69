import { type CloseReason, closeLabel, closeReasons, encodeBody, maxFrameBytes, svc } from '@svc/proto'
import { abrupt, type Handlers, type Link } from '../link.ts'
import { Acks } from './acks.ts'
import { connack } from './connack.ts'
import { publish, puback } from './packets.ts'
import type { Pipe, Receiver } from './pipe.ts'
import { downTopic, upTopic } from './topics.ts'
import { Wire } from './wire.ts'

/** What links share. */
export interface MqttHost {
  maxBacklogBytes: number
  /** publications of one device that may wait for the up-stream before its connection is read no further */
  maxUnacknowledged: number
  /** Hands an admitted connection to the broker. */
  board(wire: Wire): void
  /** Runs a handler; an error of ours ends the connection. */
  guarded(link: MqttLink, run: () => void): void
  /** It is no more. */
  left(link: MqttLink): void
}

/** As the broker reads it. */
export interface Publication {
  topic: string
  payload: string | Buffer
  qos: number
  retain: boolean
  messageId?: number | undefined
}

/** Bytes behind the CONNECT that are kept until it is answered: what one read of a socket may bring. */
const maxEarlyBytes = 64 * 1024

/**
 * One device over MQTT. Until it is admitted it holds the CONNECT and the pipe, and no broker has heard of it. What goes down is
 * written here and nowhere else, on the one topic of the device whose connection this is.
 */
export class MqttLink implements Link, Receiver {
  readonly deviceId: string
  readonly address: string
  readonly #host: MqttHost
  readonly #pipe: Pipe
  /** until admitted */
  #connect: Buffer | undefined
  #early: Buffer[] | undefined
  #wire: Wire | undefined
  #acks: Acks | undefined
  /** until the device has subscribed */
  #held: Uint8Array[] | undefined = []
  #heldBytes = 0
  #closed = false
  handlers: Handlers | undefined

  constructor(
    host: MqttHost,
    pipe: Pipe,
    connect: Buffer,
    { deviceId, address }: { deviceId: string; address: string },
  ) {
    this.#host = host
    this.#pipe = pipe
    this.#connect = connect
    this.deviceId = deviceId
    this.address = address
  }

  get via(): 'mqtt' {
    return 'mqtt'
  }

  get backlog(): number {
    return this.#closed ? 0 : this.#heldBytes + (this.#wire?.writableLength ?? 0)
  }

  /** The broker answers the CONNECT. */
  admitted(): void {
    if (this.#closed || !this.#connect) return
    const wire = new Wire(this.#pipe, this)
    this.#wire = wire
    this.#pipe.receiver = wire
    this.#host.board(wire)
    wire.begin(this.#connect, this.#early ?? [])
    this.#connect = this.#early = undefined
  }

  send(frame: Uint8Array): 'sent' | 'queued' | 'dropped' {
    if (this.#closed) return 'dropped'
    const { backlog } = this
    if (backlog > 0 && backlog + frame.length > this.#host.maxBacklogBytes) return 'dropped'
    if (this.#held) {
      this.#held.push(frame)
      this.#heldBytes += frame.length
      return 'queued'
    }
    this.#publish(frame)
    return this.backlog > 0 ? 'queued' : 'sent'
  }

  close(reason: CloseReason): void {
    if (this.#closed) return
    this.#sayWhy(reason)
    this.#forget()
    if (this.#wire) return this.#wire.finish(reason)
    this.#pipe.write(connack(reason), () => {})
    this.#pipe.end(reason)
  }

  /** Ends it and tells the handlers: for what the wire itself finds wrong. */
  fail(reason: CloseReason): void {
    const { handlers } = this
    this.close(reason)
    handlers?.gone(reason)
  }

  /** The device listens, or does so no more. */
  set subscribed(subscribed: boolean) {
    if (this.#closed) return
    if (!subscribed) this.#held ??= []
    else if (this.#held) this.#flush(this.#held)
  }

  /** Takes in what the device publishes. Returns why that ends the connection, if it does. */
  published({ topic, payload, qos, retain, messageId = 0 }: Publication): CloseReason | undefined {
    const { handlers } = this
    if (!handlers || typeof payload === 'string') return 'PEER_CLOSED'
    if (topic !== upTopic(this.deviceId) || retain || qos > 1) return 'UNEXPECTED_FRAME'
    if (payload.length > maxFrameBytes) return 'OVERSIZED_FRAME'
    if (qos === 1 && messageId < 1) return 'MALFORMED_FRAME'
    const taken = qos === 1 ? this.#expect(messageId) : undefined
    // The payload is a part of whatever was read with it, which must not stay for its sake.
    this.#host.guarded(this, () => handlers.frame(Buffer.from(payload), taken))
    return undefined
  }

  room(): void {
    this.handlers?.room()
  }

  /** Bytes behind the CONNECT, before it is answered. */
  arrived(bytes: Buffer): void {
    if (this.#closed) return
    this.#early = [...(this.#early ?? []), bytes]
    this.#pipe.pause()
    if (this.#early.reduce((sum, { length }) => sum + length, 0) > maxEarlyBytes) this.fail('OVERSIZED_FRAME')
  }

  /** The pipe ended before it was admitted. */
  lost(reason: CloseReason): void {
    this.ended(reason)
  }

  /** Pipe or broker ended it. */
  ended(reason: CloseReason): void {
    const { handlers } = this
    if (!this.#closed) this.#forget()
    handlers?.gone(reason)
  }

  #forget(): void {
    this.#closed = true
    this.handlers = undefined
    this.#connect = this.#early = this.#held = this.#acks = undefined
    this.#host.left(this)
  }

  #flush(held: readonly Uint8Array[]): void {
    this.#held = undefined
    this.#heldBytes = 0
    for (const frame of held) this.#publish(frame)
    if (this.backlog === 0) this.room()
  }

  /** MQTT 3.1.1 has no reason for an end, so it goes as the last frame to whoever listens and may still read. */
  #sayWhy(reason: CloseReason): void {
    const words = this.lastWords(reason)
    if (words) this.#wire?.write(words)
  }

  /** The packet that says why, where somebody listens. */
  lastWords(reason: CloseReason): Buffer | undefined {
    if (this.#closed || this.#held || abrupt.has(reason)) return undefined
    // Nothing would mean: never again with this credential. When else is the agent's own to draw.
    const retryAfterMs = closeReasons[reason] === 'stop' ? 0 : 1
    const text = closeLabel(reason).replaceAll('_', ' ')
    const frame = encodeBody({ refused: { reason: svc.v1.CloseReason[reason], retryAfterMs, text } })
    return publish(downTopic(this.deviceId), frame)
  }

  #publish(frame: Uint8Array): void {
    this.#wire?.write(publish(downTopic(this.deviceId), frame))
  }

  #expect(messageId: number) {
    const acks = (this.#acks ??= new Acks(
      (id) => this.#acknowledge(id),
      () => this.fail('UNAVAILABLE'),
    ))
    const taken = acks.expect(messageId)
    if (this.#wire && acks.size > this.#host.maxUnacknowledged) this.#wire.stalled = true
    return taken
  }

  #acknowledge(messageId: number): void {
    if (this.#closed || !this.#wire) return
    this.#wire.write(puback(messageId))
    if ((this.#acks?.size ?? 0) === 0) this.#wire.stalled = false
  }
}
