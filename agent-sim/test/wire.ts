import { type CloseReason, decodeEnvelope, encodeBody, type svc, upKinds, withSeq } from '@svc/proto'
import type { UpBody } from '../src/connection/link.ts'
import type { ConnectionHandlers, Transport } from '../src/transport/transport.ts'

/** One connection as the gateway sees it. */
export class WireEnd {
  readonly received: svc.v1.Envelope[] = []
  readonly #handlers: ConnectionHandlers
  /** how the agent ended it */
  closedWith: CloseReason | 'dropped' | undefined
  #down = false
  #seq = 0

  constructor(handlers: ConnectionHandlers) {
    this.#handlers = handlers
  }

  take(frame: Uint8Array): void {
    if (!this.#down) this.received.push(decodeEnvelope(frame))
  }

  /** The agent's own end of the connection went. */
  agentClosed(how: CloseReason | 'dropped'): void {
    if (this.#down) return
    this.#down = true
    this.closedWith = how
    queueMicrotask(() => this.#handlers.closed('PEER_CLOSED', 'closed by the agent'))
  }

  open(): void {
    this.#handlers.opened()
  }

  say(body: UpBody): void {
    this.#seq += 1
    this.#handlers.frame(withSeq(this.#seq, encodeBody(body)))
  }

  garbage(bytes: Uint8Array): void {
    this.#handlers.frame(bytes)
  }

  close(reason: CloseReason): void {
    this.#down = true
    this.#handlers.closed(reason, 'the test closed it')
  }

  of<K extends NonNullable<svc.v1.Envelope['body']>>(kind: K): NonNullable<svc.v1.Envelope[K]>[] {
    return this.received.flatMap((envelope) => {
      const body = envelope[kind]
      return body ? [body as NonNullable<svc.v1.Envelope[K]>] : []
    })
  }
}

/** A transport whose other end is in the test's hands. */
export class Wire implements Transport {
  readonly ends: WireEnd[] = []
  full = false

  connect(handlers: ConnectionHandlers) {
    const end = new WireEnd(handlers)
    this.ends.push(end)
    const isFull = () => this.full
    return {
      send: (frame: Uint8Array) => end.take(frame),
      get buffered() {
        return isFull() ? Number.POSITIVE_INFINITY : 0
      },
      close: (reason: CloseReason) => end.agentClosed(reason),
      drop: () => end.agentClosed('dropped'),
    }
  }

  /** The newest connection. */
  get end(): WireEnd {
    const end = this.ends.at(-1)
    if (!end) throw new Error('the agent has not connected')
    return end
  }

  /** Opens and admits the newest connection. */
  admit(welcome: svc.v1.Welcome.$Properties = {}): WireEnd {
    this.end.open()
    const known = { heartbeatIntervalMs: 60_000, upKinds: Object.values(upKinds) }
    this.end.say({ welcome: { epoch: this.ends.length, ...known, ...welcome } })
    return this.end
  }
}
