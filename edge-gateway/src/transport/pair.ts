import { type CloseReason, closeCode, maxFrameBytes } from '@svc/proto'
import { readGreeting, type UpgradeHeaders } from './greeting.ts'
import { abrupt, type Doorway, type Handlers, type Link, type Transport } from './link.ts'

/** The agent's end of a connection in memory. */
export interface PairPeer {
  /** Arrives in a later turn, as on a wire. */
  send(frame: Uint8Array): void
  /** The next frame; rejects when the connection has ended and nothing is left to read. */
  next(): Promise<Uint8Array>
  /** Stops reading: what is sent piles up in the gateway's backlog. */
  pause(): void
  resume(): void
  close(): void
  /** the close code: 4000 + reason, or 1006 where no close handshake is tried */
  readonly closed: Promise<number>
}

interface Waiting {
  resolve: (frame: Uint8Array) => void
  reject: (error: Error) => void
}

const abnormalClosure = 1006

/** Both ends of one connection. */
class Pair {
  readonly #maxBacklogBytes: number
  readonly #arrived: Uint8Array[] = []
  readonly #stalled: Uint8Array[] = []
  readonly #waiting: Waiting[] = []
  readonly #ended: (code: number) => void
  readonly closed: Promise<number>
  handlers: Handlers | undefined
  /** runs a handler; an error of ours ends the connection */
  guarded: (run: () => void) => void = () => {}
  #paused = false
  #open = true
  backlog = 0

  constructor(maxBacklogBytes: number) {
    this.#maxBacklogBytes = maxBacklogBytes
    let ended: (code: number) => void = () => {}
    this.closed = new Promise((resolve) => {
      ended = resolve
    })
    this.#ended = ended
  }

  /** Gateway to agent. */
  down(frame: Uint8Array): 'sent' | 'queued' | 'dropped' {
    if (!this.#open) return 'dropped'
    if (!this.#paused) {
      this.#arrive(frame)
      return 'sent'
    }
    if (this.backlog > 0 && this.backlog + frame.length > this.#maxBacklogBytes) return 'dropped'
    this.backlog += frame.length
    this.#stalled.push(frame)
    return 'queued'
  }

  /** Agent to gateway. */
  up(frame: Uint8Array): void {
    const bytes = Uint8Array.from(frame)
    setImmediate(() => {
      if (!this.handlers) return
      if (bytes.length > maxFrameBytes) return this.fail('OVERSIZED_FRAME', closeCode('OVERSIZED_FRAME'))
      this.guarded(() => this.handlers?.frame(bytes))
    })
  }

  next(): Promise<Uint8Array> {
    const frame = this.#arrived.shift()
    if (frame) return Promise.resolve(frame)
    if (!this.#open) return Promise.reject(new Error('the connection has ended'))
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  set paused(paused: boolean) {
    this.#paused = paused
    if (paused) return
    for (const frame of this.#stalled.splice(0)) this.#arrive(frame)
    this.backlog = 0
    setImmediate(() => this.handlers?.room())
  }

  end(code: number): void {
    if (!this.#open) return
    this.#open = false
    this.handlers = undefined
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the connection has ended'))
    this.#ended(code)
  }

  /** The wire, or the peer, ends it. */
  fail(reason: CloseReason, code = abnormalClosure): void {
    const { handlers } = this
    this.end(code)
    handlers?.gone(reason)
  }

  #arrive(frame: Uint8Array): void {
    const waiting = this.#waiting.shift()
    if (waiting) waiting.resolve(frame)
    else this.#arrived.push(frame)
  }
}

const linkOf = (pair: Pair): Link => ({
  via: 'websocket',
  send: (frame) => pair.down(frame),
  admitted: () => {},
  close: (reason) => pair.end(abrupt.has(reason) ? abnormalClosure : closeCode(reason)),
  get backlog() {
    return pair.backlog
  },
})

const peerOf = (pair: Pair): PairPeer => ({
  send: (frame) => pair.up(frame),
  next: () => pair.next(),
  pause: () => {
    pair.paused = true
  },
  resume: () => {
    pair.paused = false
  },
  close: () => void setImmediate(() => pair.fail('PEER_CLOSED')),
  closed: pair.closed,
})

/** A transport without a network: for tests, and for an agent in the same process. */
export class PairTransport implements Transport {
  readonly #maxBacklogBytes: number
  readonly #pairs = new Set<Pair>()
  #doorway: Doorway | undefined
  #paused = false

  constructor(options: { maxBacklogBytes: number }) {
    this.#maxBacklogBytes = options.maxBacklogBytes
  }

  async listen(doorway: Doorway): Promise<{ url: string }> {
    this.#doorway = doorway
    return { url: 'pair:' }
  }

  /** The agent's end of a new connection, or the HTTP status it was turned away with. */
  async dial(headers: UpgradeHeaders, address = '127.0.0.1'): Promise<PairPeer | number> {
    const doorway = this.#paused ? undefined : this.#doorway
    const door = doorway?.open() ?? 503
    const open = door === true && !doorway?.knock(address) ? 429 : door
    const greeting = open === true ? readGreeting(headers, address) : open
    if (typeof greeting === 'number' || !doorway) {
      doorway?.rejected(Number(greeting))
      return Number(greeting)
    }
    const pair = new Pair(this.#maxBacklogBytes)
    this.#pairs.add(pair)
    void pair.closed.then(() => this.#pairs.delete(pair))
    pair.guarded = (run) => {
      try {
        run()
      } catch (error) {
        doorway.failed(error)
        const { handlers } = pair
        pair.end(closeCode('INTERNAL_ERROR'))
        handlers?.gone('INTERNAL_ERROR')
      }
    }
    pair.handlers = doorway.accept(linkOf(pair), greeting)
    return peerOf(pair)
  }

  pause(): void {
    this.#paused = true
  }

  async resume(): Promise<void> {
    this.#paused = false
  }

  stop(): void {
    this.#doorway = undefined
  }

  close(): void {
    this.stop()
    for (const pair of this.#pairs) pair.fail('DRAINING')
  }
}
