import {
  type CloseReason,
  decodeEnvelope,
  encodeBody,
  maxFrameBytes,
  svc,
  takenBy,
  upKinds,
  withSeq,
} from '@svc/proto'
import type { Clock, Random, Timer } from '../clock.ts'
import type { Observe } from '../events.ts'
import type { Connection, Transport } from '../transport/transport.ts'
import { type Ending, comeback } from './comeback.ts'

/** From the attempt to connect until `Welcome`; the gateway gives itself less. */
const admissionWithinMs = 20_000
/** More than this waiting on the wire: nothing is added, senders try again later. */
const maxBufferedBytes = 8 * 1024 * 1024
/** After the network changed the next try comes this soon: with what it takes to notice and to ask, an agent is back in 5 s. */
const networkChangeWithinMs = 1_000
const goodbyeWithinMs = 3_000

type Stage =
  | { at: 'idle' | 'stopped' }
  | { at: 'waiting'; timer: Timer }
  | { at: 'admitting'; connection: Connection; since: number; deadline: Timer }
  | { at: 'live'; connection: Connection; since: number }

export interface LinkOptions {
  transport: Transport
  clock: Clock
  random: Random
  observe: Observe
  hello: (resumeToken: Uint8Array) => svc.v1.Hello.$Properties
  /** The device was admitted. */
  live: (welcome: svc.v1.Welcome) => void
  /** A frame that is not about the connection itself. */
  received: (envelope: svc.v1.Envelope) => void
  /** The connection is gone; `send` answers false until `live`. */
  down: () => void
  /** The server does not know the credential: whether there is another one to try. */
  otherCredential?: () => boolean
  /** The server's clock, as it turned the device away. */
  serverTime?: (ms: number) => void
  /** It will not come back by itself. */
  stopped: (reason: CloseReason, text: string) => void
}

export type UpBody = Omit<svc.v1.Envelope.$Properties, 'seq'>

/** Answered or outdated by the next one: a heartbeat has its own answer, a greeting its welcome, progress its result. */
const isFleeting = ({ heartbeat, hello, commandProgress }: UpBody): boolean =>
  Boolean(heartbeat ?? hello ?? commandProgress)

/** Whether a gateway takes such a frame: an older one closes the connection on what it does not know. */
const isTaken = (body: UpBody, taken: ReadonlySet<number>): boolean =>
  (Object.keys(upKinds) as (keyof typeof upKinds)[]).every((kind) => !body[kind] || taken.has(upKinds[kind]))

/** Keeps one device connected: greets, comes back after every ending as the reason demands, moves when asked. */
export class Link {
  readonly #options: LinkOptions
  #stage: Stage = { at: 'idle' }
  #generation = 0
  #seq = 0
  #failures = 0
  #move: { at: number; timer: Timer } | undefined
  #resumeToken: Uint8Array = new Uint8Array()
  #closed: (() => void) | undefined
  /** What the gateway takes, by its number in Envelope. */
  #taken = takenBy([])
  /** The largest frame that the gateway takes. */
  maxFrameBytes: number = maxFrameBytes

  constructor(options: LinkOptions) {
    this.#options = options
  }

  get isLive(): boolean {
    return this.#stage.at === 'live'
  }

  /** Begins to connect; once. */
  start(): void {
    if (this.#stage.at === 'idle') this.#connect()
  }

  /** False when there is no connection, too much waits on it already, or the gateway does not know such a frame: nothing was sent. */
  send(body: UpBody): boolean {
    const stage = this.#stage
    if (stage.at !== 'live' || stage.connection.buffered > maxBufferedBytes) return false
    if (!isTaken(body, this.#taken)) return false
    this.#write(stage.connection, body)
    return true
  }

  /** Ends this connection as a failure: the other side is silent or makes no sense. */
  fail(reason: CloseReason, detail: string): void {
    const stage = this.#stage
    if (stage.at !== 'live' && stage.at !== 'admitting') return
    stage.connection.close(reason)
    this.#ended({ reason }, detail)
  }

  /**
   * What was drawn for the old network, or begun over it, is void: nobody waits out two minutes after a change, or for an answer that
   * will not come. Whether a live connection still leads anywhere is its owner's to find out.
   */
  networkChanged(): void {
    this.#failures = 0
    const stage = this.#stage
    if (stage.at === 'admitting') return this.fail('PEER_CLOSED', 'the network changed')
    if (stage.at !== 'waiting') return
    stage.timer.cancel()
    this.#wait(this.#options.random() * networkChangeWithinMs)
  }

  /** Says goodbye, waits for the close, and stays away. */
  async stop(reason: CloseReason): Promise<void> {
    if (this.#stage.at === 'live')
      this.#write(this.#stage.connection, { goodbye: { reason: svc.v1.CloseReason[reason] } })
    await this.leave(reason)
  }

  /** Waits until everything is said and the connection closed, and stays away. Without a goodbye the device is not gone. */
  async leave(reason: CloseReason = 'PEER_CLOSED'): Promise<void> {
    if (this.#stage.at !== 'live') return this.kill()
    const { connection } = this.#stage
    await new Promise<void>((resolve) => {
      const limit = this.#options.clock.after(goodbyeWithinMs, resolve)
      this.#closed = () => {
        limit.cancel()
        resolve()
      }
      connection.close(reason)
      this.#leave()
    })
    this.#generation += 1
  }

  /** Closes, everything said before is delivered first, and connects anew at once. */
  renew(detail: string): void {
    const stage = this.#stage
    if (stage.at !== 'live') return
    this.#cancelMove()
    this.#stage = { at: 'idle' }
    this.#failures = 0
    stage.connection.close('PEER_CLOSED')
    this.#options.down()
    this.#options.observe({ kind: 'disconnected', reason: 'PEER_CLOSED', detail, retryInMs: 0 })
    this.#connect()
  }

  /** Cuts the wire without a word, as a crash would. */
  kill(): void {
    const stage = this.#stage
    this.#generation += 1
    if (stage.at === 'live' || stage.at === 'admitting') stage.connection.drop()
    this.#leave()
  }

  #connect(): void {
    const { transport, clock, observe } = this.#options
    const generation = ++this.#generation
    const mine = () => generation === this.#generation
    observe({ kind: 'connecting' })
    this.#seq = 0
    const connection = transport.connect({
      opened: () => mine() && this.#greet(),
      frame: (bytes) => mine() && this.#frame(bytes),
      closed: (reason, detail, retryAfterMs) => {
        if (!mine()) return
        if (this.#closed) this.#closed()
        else this.#ended({ reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }, detail)
      },
    })
    const deadline = clock.after(admissionWithinMs, () => this.fail('ADMISSION_TIMEOUT', 'no welcome'))
    this.#stage = { at: 'admitting', connection, since: clock.now(), deadline }
  }

  #greet(): void {
    if (this.#stage.at === 'admitting')
      this.#write(this.#stage.connection, { hello: this.#options.hello(this.#resumeToken) })
  }

  #write(connection: Connection, body: UpBody): void {
    this.#seq += 1
    connection.send(withSeq(this.#seq, encodeBody(body)), isFleeting(body))
  }

  #frame(bytes: Uint8Array): void {
    let envelope: svc.v1.Envelope
    try {
      envelope = decodeEnvelope(bytes)
    } catch {
      return this.fail('MALFORMED_FRAME', 'a frame that does not decode')
    }
    if (envelope.welcome) return this.#welcome(envelope.welcome as svc.v1.Welcome)
    if (envelope.refused) return this.#refused(envelope.refused as svc.v1.Refused)
    if (envelope.move) return this.#moveWithin(envelope.move.afterMs ?? 0)
    if (this.isLive) this.#options.received(envelope)
  }

  #welcome(welcome: svc.v1.Welcome): void {
    const stage = this.#stage
    if (stage.at !== 'admitting') return
    const now = this.#options.clock.now()
    stage.deadline.cancel()
    this.#stage = { at: 'live', connection: stage.connection, since: now }
    this.#resumeToken = welcome.resumeToken
    this.#taken = takenBy(welcome.upKinds)
    if (welcome.maxFrameBytes > 0) this.maxFrameBytes = welcome.maxFrameBytes
    this.#options.observe({ kind: 'connected', tookMs: now - stage.since, epoch: welcome.epoch })
    this.#options.live(welcome)
  }

  #refused({ reason, retryAfterMs, text, serverTimeMs }: svc.v1.Refused): void {
    const stage = this.#stage
    if (stage.at !== 'admitting' && stage.at !== 'live') return
    if (serverTimeMs > 0) this.#options.serverTime?.(serverTimeMs)
    // A reason of a newer protocol is no reason to stay away.
    const name = (svc.v1.CloseReason[reason] as CloseReason | undefined) ?? 'UNAVAILABLE'
    // On a live connection it is why that ends, where the wire itself has no words for it.
    if (stage.at === 'admitting') this.#options.observe({ kind: 'refused', reason: name, text })
    stage.connection.close(name)
    this.#ended({ reason: name, retryAfterMs }, text)
  }

  #moveWithin(afterMs: number): void {
    if (!this.isLive || this.#move) return
    const { clock, random, observe } = this.#options
    const inMs = random() * afterMs
    observe({ kind: 'moving', inMs })
    const timer = clock.after(inMs, () => this.fail('DRAINING', 'moving'))
    this.#move = { at: clock.now() + inMs, timer }
  }

  /** The one place where a connection ends, whoever ended it. */
  #ended(ending: Ending, detail: string): void {
    const { clock, random, observe } = this.#options
    const stage = this.#stage
    this.#generation += 1
    if (stage.at === 'admitting') stage.deadline.cancel()
    const livedMs = stage.at === 'live' ? clock.now() - stage.since : undefined
    const moveInMs = this.#move && Math.max(0, this.#move.at - clock.now())
    this.#cancelMove()
    if (livedMs !== undefined) this.#options.down()
    const another =
      stage.at === 'admitting' && ending.reason === 'CREDENTIAL_INVALID' && this.#options.otherCredential?.()
    const next = comeback(
      {
        ...ending,
        ...(another ? { another } : {}),
        ...(livedMs === undefined ? {} : { livedMs }),
        ...(moveInMs === undefined ? {} : { moveInMs }),
      },
      this.#failures,
      random,
    )
    if (next.stop) return this.#stopFor(ending.reason, detail)
    this.#failures = next.attempt
    observe({ kind: 'disconnected', reason: ending.reason, detail, retryInMs: next.inMs })
    this.#wait(next.inMs)
  }

  #wait(ms: number): void {
    this.#stage = { at: 'waiting', timer: this.#options.clock.after(ms, () => this.#connect()) }
  }

  #stopFor(reason: CloseReason, text: string): void {
    this.#stage = { at: 'stopped' }
    this.#options.observe({ kind: 'stopped', reason, text })
    this.#options.stopped(reason, text)
  }

  #cancelMove(): void {
    this.#move?.timer.cancel()
    this.#move = undefined
  }

  /** To `stopped` from wherever it is, releasing what the stage holds. */
  #leave(): void {
    const stage = this.#stage
    if (stage.at === 'waiting') stage.timer.cancel()
    if (stage.at === 'admitting') stage.deadline.cancel()
    this.#cancelMove()
    const wasLive = stage.at === 'live'
    this.#stage = { at: 'stopped' }
    if (wasLive) this.#options.down()
  }
}
