import { Socket } from 'node:net'
import { type CloseReason, closeReasonOf, maxFrameBytes } from '@svc/proto'
import { connect, ErrorWithReasonCode, type IClientOptions, type MqttClient } from 'mqtt'
import { WebSocket } from 'ws'
import type { Random } from '../clock.ts'
import { rounds } from './rounds.ts'
import type { Connection, ConnectionHandlers, Transport } from './transport.ts'

const handshakeTimeoutMs = 15_000
/** How long a polite close may take before the socket is cut. */
const closeWithinMs = 2_000
/** Proxies give up on what is silent for 60 s, and heartbeats are no closer than that; the server pings a WebSocket as often. */
const defaultKeepaliveSeconds = 40

/** CONNACK return codes (MQTT 3.1.1 §3.2.2.3) as the gateway uses them. What else it may say is no word of ours. */
const refusals: Partial<Record<number, CloseReason>> = {
  1: 'PROTOCOL_VERSION',
  3: 'UNAVAILABLE',
  4: 'CREDENTIAL_INVALID',
  5: 'QUARANTINED',
}

export interface MqttOptions {
  /** Gateways, tried in rounds of random order, over TCP, TLS or WebSocket as their schemes say. */
  urls: readonly string[]
  deviceId: string
  /** The device's token, and a proof of its key where it has one; asked for at each connection. */
  password: () => string
  random: Random
  /** A connection on which nothing was sent for so long is pinged; 40. */
  keepaliveSeconds?: number | undefined
}

/** One message = one Envelope, up on `d/{id}/up`, down on `d/{id}/down`. */
export const mqttTransport = ({ urls, random, ...device }: MqttOptions): Transport => {
  const next = rounds(urls, random)
  return { connect: (handlers) => new MqttConnection(next() ?? '', device, handlers) }
}

type Device = Pick<MqttOptions, 'deviceId' | 'password' | 'keepaliveSeconds'>

/**
 * The client never reconnects by itself: when to come back is the agent's to say, and what was not acknowledged is in its ledger.
 * MQTT 3.1.1 has no reason for a close, so only what CONNACK and, over WebSocket, the close code say is known here; `Refused` and
 * `Move` come as frames.
 */
class MqttConnection implements Connection {
  readonly #client: MqttClient
  readonly #handlers: ConnectionHandlers
  readonly #upTopic: string
  #reason: CloseReason = 'PEER_CLOSED'
  #detail = ''
  #retryAfterMs: number | undefined
  #ended = false
  buffered = 0

  constructor(url: string, device: Device, handlers: ConnectionHandlers) {
    this.#handlers = handlers
    this.#upTopic = `d/${device.deviceId}/up`
    const client = connect(
      url,
      optionsOf(device, (socket) => this.#watch(socket)),
    )
    this.#client = client
    // An acknowledgement, progress and a result follow on each other: none waits for the answer to the one before.
    if (client.stream instanceof Socket) client.stream.setNoDelay(true)
    client.on('connect', () => this.#subscribe(`d/${device.deviceId}/down`))
    client.on('message', (_topic, payload) => {
      if (!this.#ended) handlers.frame(payload)
    })
    client.on('error', (error) => this.#failed(error))
    client.on('close', () => this.#end())
  }

  send(frame: Uint8Array, fleeting = false): void {
    if (this.#ended) return
    const { buffer, byteOffset, length } = frame
    this.buffered += length
    this.#client.publish(
      this.#upTopic,
      Buffer.from(buffer, byteOffset, length),
      { qos: fleeting ? 0 : 1 },
      () => {
        this.buffered -= length
      },
    )
  }

  /** Behind what is not acknowledged yet comes DISCONNECT. The reason has no place in it: a Goodbye says it before. */
  close(): void {
    if (!this.#client.connected) return this.drop()
    this.#client.end()
    setTimeout(() => this.drop(), closeWithinMs).unref()
  }

  drop(): void {
    this.#client.end(true)
    this.#client.stream.destroy()
  }

  #subscribe(topic: string): void {
    this.#client.subscribe(topic, { qos: 1 }, (error) => {
      if (this.#ended) return
      if (!error) return this.#handlers.opened()
      this.#detail ||= `not subscribed: ${error.message}`
      this.drop()
    })
  }

  #failed(error: Error): void {
    const code = (error as NodeJS.ErrnoException).code
    if (error instanceof ErrorWithReasonCode) this.#reason = refusals[error.code] ?? this.#reason
    if (error.message === 'Keepalive timeout') this.#reason = 'KEEPALIVE_TIMEOUT'
    this.#detail ||= typeof code === 'string' ? code : error.message
    this.#client.stream.destroy()
  }

  #watch(socket: WebSocket): void {
    // As over plain WebSocket: an answer in HTTP must not be able to end an agent for good.
    socket.on('unexpected-response', (_request, response) => {
      this.#detail = `HTTP ${response.statusCode}`
      const seconds = Number(response.headers['retry-after'])
      if (seconds > 0) this.#retryAfterMs = seconds * 1000
      response.resume()
      socket.terminate()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#detail ||= error.code ?? error.message
    })
    socket.on('close', (code, text) => {
      if (this.#reason === 'PEER_CLOSED') this.#reason = closeReasonOf(code)
      this.#detail ||= text.toString() || `code ${code}`
    })
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#handlers.closed(this.#reason, this.#detail || 'the connection ended', this.#retryAfterMs)
  }
}

const optionsOf = (
  { deviceId, password, keepaliveSeconds = defaultKeepaliveSeconds }: Device,
  watch: (socket: WebSocket) => void,
): IClientOptions => ({
  protocolVersion: 4,
  clean: true,
  clientId: deviceId,
  username: deviceId,
  password: password(),
  keepalive: keepaliveSeconds,
  connectTimeout: handshakeTimeoutMs,
  reconnectPeriod: 0,
  resubscribe: false,
  queueQoSZero: false,
  createWebsocket: (url: string, protocols: string[]) => {
    const socket = new WebSocket(url, protocols, {
      perMessageDeflate: false,
      handshakeTimeout: handshakeTimeoutMs,
      maxPayload: 2 * maxFrameBytes,
    })
    watch(socket)
    return socket
  },
})
