import { Duplex } from 'node:stream'
import { type CloseReason, maxFrameBytes } from '@svc/proto'
import { abrupt } from '../link.ts'
import { Framing } from './framing.ts'
import type { MqttLink } from './mqtt-link.ts'
import type { Pipe, Receiver } from './pipe.ts'

/** Bytes that a pipe which cannot pause may bring beyond what is taken: one frame and some. */
const maxWaitingBytes = maxFrameBytes + 256 * 1024

/** How long a peer may take to read what was written before the end. */
const lingerMs = 2_000

/**
 * An admitted connection as a stream, which is how the broker wants it. It goes in as it comes, but in portions of few packets, each
 * of a kind that may come and no longer than it may be. The stream holds no frames of its own: what a slow peer has not taken waits
 * here, and is the link's backlog.
 */
export class Wire extends Duplex implements Receiver {
  readonly link: MqttLink
  readonly #pipe: Pipe
  readonly #framing = new Framing()
  /** come, and not handed on yet */
  #waiting: Buffer[] = []
  #waitingBytes = 0
  /** of the first of them, how much has been handed on */
  #offset = 0
  #paused = false
  /** the broker asks for more */
  #wanted = false
  /** it has answered the CONNECT */
  #ready = false
  #stalled = false
  /** nothing more comes or goes */
  #over = false
  /** by us, and by the pipe */
  #ended: CloseReason | undefined
  #lost: CloseReason | undefined
  #written: (() => void) | undefined

  constructor(pipe: Pipe, link: MqttLink) {
    // One byte: a second portion is taken when the broker is through with the first.
    super({ readableHighWaterMark: 1, writableHighWaterMark: 4_096 })
    this.#pipe = pipe
    this.link = link
  }

  /** What came before the broker was there: the CONNECT, then whatever. */
  begin(connect: Buffer, early: readonly Buffer[]): void {
    this.push(connect)
    for (const bytes of early) this.arrived(bytes)
  }

  /** The CONNECT has been answered: what comes behind it may go in. */
  ready(): void {
    this.#ready = true
    this.#serve()
  }

  /** Takes nothing in for now, or again. */
  set stalled(stalled: boolean) {
    this.#stalled = stalled
    if (!stalled) this.#serve()
  }

  arrived(bytes: Buffer): void {
    if (this.#ended) return
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    this.#serve()
    if (this.#waitingBytes > maxWaitingBytes) this.link.fail('BACKPRESSURE')
    else if (this.#waiting.length > 0 && !this.#paused) {
      this.#paused = true
      this.#pipe.pause()
    }
  }

  /** What came before the end still counts: the last words of an agent are among it. */
  lost(reason: CloseReason): void {
    this.#over = true
    this.#lost = reason
    if (this.#ended || !this.#ready) return void this.destroy()
    this.#written?.()
    this.#serve()
  }

  /** Ends it behind what was written, unless the reason is that the peer does not read. */
  finish(reason: CloseReason): void {
    this.#ended = reason
    this.#waiting = []
    if (abrupt.has(reason)) return void this.destroy()
    setTimeout(() => this.destroy(), lingerMs).unref()
    this.#endWhenWritten()
  }

  override _read(): void {
    this.#wanted = true
    this.#serve()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#send(bytes, done)
  }

  /** A packet is written in pieces: they go together. */
  override _writev(pieces: { chunk: Buffer }[], done: () => void): void {
    this.#send(Buffer.concat(pieces.map(({ chunk }) => chunk)), done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const reason = this.#lost ?? reasonOf(error)
    if (this.#ended) this.#pipe.destroy()
    else this.#part(reason)
    this.#over = true
    this.#waiting = []
    this.#written = undefined
    this.link.ended(reason)
    done()
  }

  /** By the broker, which says nothing of why, or by the pipe. */
  #part(reason: CloseReason): void {
    const words = this.#lost || reason === 'PEER_CLOSED' ? undefined : this.link.lastWords(reason)
    if (words) this.#pipe.write(words, () => {})
    this.#pipe.end(reason)
  }

  #send(bytes: Buffer, done: () => void): void {
    if (this.#over) return done()
    let later = false
    this.#written = done
    this.#pipe.write(bytes, () => {
      this.#written = undefined
      done()
      if (this.#ended) this.#endWhenWritten()
      else if (later && this.writableLength === 0) this.link.room()
    })
    later = true
  }

  /** The stream itself is not ended: the broker may still have an answer under way, which then goes nowhere. */
  #endWhenWritten(): void {
    if (this.#over || this.writableLength > 0) return
    this.#over = true
    this.#pipe.end(this.#ended ?? 'PEER_CLOSED')
  }

  #serve(): void {
    while (this.#wanted && this.#ready && !this.#ended && (!this.#stalled || this.#over)) {
      const [bytes] = this.#waiting
      if (!bytes) return this.#idle()
      const stop = this.#framing.pass(bytes, this.#offset)
      if (typeof stop === 'string') return this.link.fail(stop)
      const portion = bytes.subarray(this.#offset, stop)
      this.#waitingBytes -= portion.length
      this.#offset = stop
      if (stop === bytes.length) {
        this.#waiting.shift()
        this.#offset = 0
      }
      this.#wanted = false
      this.push(portion)
    }
  }

  #idle(): void {
    if (this.#over) {
      this.#wanted = false
      this.push(null)
    } else if (this.#paused) {
      this.#paused = false
      this.#pipe.resume()
    }
  }
}

/** What the broker, or the system, found wrong. */
function reasonOf(error: (Error & { code?: string }) | null): CloseReason {
  if (!error || error.code) return 'PEER_CLOSED'
  return error.message === 'keep alive timeout' ? 'KEEPALIVE_TIMEOUT' : 'MALFORMED_FRAME'
}
