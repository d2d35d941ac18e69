import type { CloseReason, KeyProof } from '@svc/proto'
import type { Entrance } from './mqtt/pipe.ts'

export type Via = 'websocket' | 'mqtt'

/** What the connection said before it was accepted. The token itself is not kept. */
export interface Greeting {
  deviceId: string
  tokenSha256: Buffer
  /** that it holds the device's key, where it could say so by then */
  proof?: KeyProof | undefined
  /** of the client, behind trusted proxies too */
  address: string
  via: Via
}

/** Told once what became of something said: `true`, it stands in the up-stream; `false`, it was not accepted and must be said again. */
export type Taken = (accepted: boolean) => void

/** All that the rest of the gateway knows about a wire. One per connection, so it holds as little as it can. */
export interface Link {
  readonly via: Via
  /** of the client, where it may say more about itself later */
  readonly address?: string
  /**
   * Never throws, never blocks. `queued`: accepted, but the peer reads slowly; `dropped`: not accepted, because the backlog is
   * full or the link is gone.
   */
  send(frame: Uint8Array): 'sent' | 'queued' | 'dropped'
  /** The peer is in. What a wire itself says to that may go now; the Welcome follows. */
  admitted(): void
  /** bytes accepted but not yet on the wire */
  readonly backlog: number
  /** Idempotent. `gone` is not called for a close of one's own. */
  close(reason: CloseReason): void
}

/** What a link calls. Called in order, never from inside `accept`, `send` or `close`. */
export interface Handlers {
  /** One frame; the bytes are the callee's to keep. Who must answer for it gives `taken`, which may be called before this returns. */
  frame(bytes: Uint8Array, taken?: Taken): void
  /** The backlog is on the wire. */
  room(): void
  /** The peer or the wire ended it: once, and the last call. */
  gone(reason: CloseReason): void
}

/** Takes a connection, or turns it away before it becomes one. */
export type Accept = (link: Link, greeting: Greeting) => Handlers

export interface Doorway {
  /** Asked before a connection is upgraded; otherwise the HTTP status to turn it away with. */
  open(): true | 503
  /**
   * One more connection of a client's that nobody knows yet; false: its address has too many, and it is to be turned away with 429.
   * Asked once for each: when it comes, or where a proxy brings it, when that has said for whom.
   */
  knock(address: string): boolean
  accept: Accept
  /** A connection was turned away with that HTTP status. @param address where it has knocked, and was not to blame */
  rejected(status: number, address?: string): void
  /** A connection without an upgrade was ended before there was anybody to accept, or because of what it said that it was. @param address where it has knocked */
  strayed(reason: CloseReason, address?: string): void
  /** A handler threw; its connection has been ended with INTERNAL_ERROR. */
  failed(error: unknown): void
  /** The answer to `GET /health` and `GET /health/ready`. */
  health(path: '/health' | '/health/ready'): { status: number; body: unknown }
}

export interface Listening {
  /** where agents connect */
  url: string
  /** where they do so over MQTT; none where that is not offered */
  mqtt?: readonly string[]
}

export interface Transport {
  /** by name, where there is a choice */
  readonly engine?: 'uWebSockets.js' | 'ws'
  /** Resolves with where agents connect; rejects with {@link PortTaken}. */
  listen(doorway: Doorway): Promise<Listening>
  /**
   * Stops listening for now; connections that exist stay. What waits in the accept queue is reset, and comes again by itself.
   * Idempotent.
   */
  pause(): void
  /** Listens again, on the same port; rejects with {@link PortTaken}, and may be called again. Nothing unless paused, nor once stopped. */
  resume(): Promise<void>
  /** No new connections, for good; those that exist stay. Idempotent. */
  stop(): void
  /** Ends everything, firmly. Idempotent. */
  close(): void
}

export interface TlsFiles {
  certFile: string
  keyFile: string
}

/** What transports over real sockets are told. */
export interface SocketOptions {
  host: string
  /** 0: any free one */
  port: number
  tls?: TlsFiles | undefined
  /** which peers may say on whose behalf they call */
  trusted: (address: string) => boolean
  /** a connection that carried nothing for so long is pinged, and cut when nothing comes back */
  idleSeconds: number
  maxBacklogBytes: number
  /** what comes before an upgrade must be over by then, where the engine can be told */
  helloWithinMs: number
  /** connections at a time that have not asked for anything yet */
  maxBeginning: number
  /** where MQTT over WebSocket goes, if it is offered */
  mqtt?: Entrance | undefined
  /** a guard that a proof takes away: of several lines that say on whose behalf a proxy calls, the first alone counts */
  firstLineAlone?: boolean | undefined
  /** other workers of the same supervisor listen there, too */
  shared?: boolean | undefined
}

/** The port cannot be listened on. The message is one line for the operator. */
export class PortTaken extends Error {
  override name = 'PortTaken'
}

export const agentPortTaken = (host: string, port: number, cause?: unknown): PortTaken =>
  new PortTaken(`cannot listen on ${host} port ${port}: set GATEWAY_PORT or GATEWAY_HOST`, { cause })

/** Certificate and key cannot be used. The message is one line that names the variables. */
export class CertificateUnusable extends Error {
  override name = 'CertificateUnusable'

  constructor(certFile: string, keyFile: string, cause: unknown) {
    super(`TLS_CERT_FILE, TLS_KEY_FILE: ${certFile} and ${keyFile} are no certificate and its key in PEM`, {
      cause,
    })
  }
}

/** Reasons for which no close handshake is tried: the peer does not read, or is not there. */
export const abrupt: ReadonlySet<CloseReason> = new Set(['BACKPRESSURE', 'KEEPALIVE_TIMEOUT'])

/**
 * What an engine lets through beyond the limit of a frame. It would only cut a connection whose message is too large; what is a
 * little too large is told so, with a close code.
 */
export const frameSlackBytes = 64 * 1024

/** The subprotocol that an agent must offer. */
export const subprotocol = 'svc.agent.v1'

/** And over MQTT: MQTT 3.1.1 §6. */
export const mqttSubprotocol = 'mqtt'

/** The names in a list of subprotocols. */
export const offers = (protocols: string, name: string): boolean =>
  protocols.split(',').some((offered) => offered.trim() === name)
