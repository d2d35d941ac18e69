import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { setTimeout as later } from 'node:timers'

/** What waits for a reader that has stopped reading; of security events that much more. */
const most = { bytes: 4 * 1024 * 1024, reserve: 1024 * 1024 } as const
/** How soon a pipe that was full is tried again. */
const againMs = { first: 5, last: 250 } as const

/** What it needs of the system; a test has one that is full when it says so. */
export interface Sink {
  /** Bytes taken; throws as write(2) does. */
  write(bytes: string | Uint8Array): number
}

export interface OutOptions {
  lost: { stalled: number; gone: number }
  /** Reading goes on after lines were thrown away: told how many, once what waited is written. */
  resumed?: (lines: number) => void
  bytes?: number
  reserve?: number
}

interface Waiting {
  bytes: Uint8Array
}

const isFull = (error: unknown) =>
  ['EAGAIN', 'EWOULDBLOCK', 'ENOBUFS'].includes((error as NodeJS.ErrnoException).code ?? '')

/**
 * Lines on their way out, in the turn that they are written in as long as somebody reads: last words need no patience. Never waits:
 * what a full pipe does not take is held, up to a bound, and beyond it thrown away and counted.
 */
export class Out {
  readonly #sink: Sink
  readonly #options: Required<Omit<OutOptions, 'resumed'>> & Pick<OutOptions, 'resumed'>
  #waiting: Waiting[] = []
  #bytes = 0
  #thrownAway = 0
  #gone = false
  #again: NodeJS.Timeout | undefined
  #pauseMs: number = againMs.first

  constructor(sink: Sink, options: OutOptions) {
    this.#sink = sink
    this.#options = { bytes: most.bytes, reserve: most.reserve, ...options }
  }

  /** Bytes that wait for their reader. */
  get held(): number {
    return this.#bytes
  }

  write(line: string): void {
    const { lost } = this.#options
    if (this.#gone) return void lost.gone++
    const rest = this.#waiting.length > 0 ? Buffer.from(line) : this.#try(line)
    if (!rest) return
    if (this.#bytes + rest.length > this.#room(line)) {
      this.#thrownAway++
      return void lost.stalled++
    }
    this.#hold(rest)
  }

  /** Writes what waits, for as long as it is taken; what a reader has not taken within so many milliseconds is lost. Blocks. */
  flush(withinMs: number): void {
    const until = performance.now() + withinMs
    for (;;) {
      this.#drain()
      if (this.#waiting.length === 0 || performance.now() >= until) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, againMs.first)
    }
  }

  close(): void {
    clearTimeout(this.#again)
  }

  /** The rest is kept for what nobody may be able to silence. */
  #room(line: string): number {
    const { bytes, reserve } = this.#options
    return line.includes('"security":true') ? bytes + reserve : bytes
  }

  #hold(bytes: Uint8Array): void {
    this.#waiting.push({ bytes })
    this.#bytes += bytes.length
    this.#again ??= later(() => this.#retry(), this.#pauseMs).unref()
  }

  #retry(): void {
    this.#again = undefined
    const before = this.#bytes
    this.#drain()
    if (this.#waiting.length === 0) {
      this.#pauseMs = againMs.first
      return this.#tell()
    }
    this.#pauseMs = this.#bytes < before ? againMs.first : Math.min(againMs.last, this.#pauseMs * 2)
    this.#again = later(() => this.#retry(), this.#pauseMs).unref()
  }

  #drain(): void {
    let at = 0
    for (; at < this.#waiting.length && !this.#gone; at++) {
      const one = this.#waiting[at] as Waiting
      const rest = this.#try(one.bytes)
      this.#bytes -= one.bytes.length - (rest?.length ?? 0)
      if (rest) {
        one.bytes = rest
        break
      }
    }
    this.#waiting = this.#gone ? [] : this.#waiting.slice(at)
    if (this.#gone) this.#bytes = 0
  }

  #tell(): void {
    const lines = this.#thrownAway
    this.#thrownAway = 0
    if (lines > 0) this.#options.resumed?.(lines)
  }

  /** What was not taken. */
  #try(line: string | Uint8Array): Uint8Array | undefined {
    try {
      const taken = this.#sink.write(line)
      if (taken === line.length) return undefined // of a text: as many bytes as characters
      const bytes = typeof line === 'string' ? Buffer.from(line) : line
      return taken === bytes.length ? undefined : bytes.subarray(taken)
    } catch (error) {
      if (isFull(error)) return typeof line === 'string' ? Buffer.from(line) : line
      // Its reader is gone, or its disk is full: the product goes on without a log, and the metrics say so.
      this.#gone = (error as NodeJS.ErrnoException).code === 'EPIPE'
      this.#options.lost.gone++
      return undefined
    }
  }
}

/** Where /proc is, a pipe has an own name for each of those who hold it. */
const ownName = (fd: number) => `/proc/self/fd/${fd}`

/**
 * A descriptor that does not make its writer wait. Of a pipe it is one of this process's own, since others that share the standard
 * output may have it wait; of a socket Node has set it so as soon as it is looked at.
 */
export function notWaiting(fd: 1 | 2): Sink {
  const write = (own: number): Sink => ({ write: (bytes) => writeSync(own, bytes as Uint8Array) })
  if (fstatSync(fd).isFIFO()) {
    try {
      return write(openSync(ownName(fd), constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY))
    } catch {
      // No /proc, or a pipe of another user: as with sockets.
    }
  }
  keepNotWaiting()
  return write(fd)
}

/** Processes that are started with the same standard output make it wait again: to be called after that. */
export function keepNotWaiting(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const { _handle: handle } = stream as unknown as { _handle?: { setBlocking?: (on: boolean) => void } }
    if (!stream.isTTY) handle?.setBlocking?.(false)
    if (stream.listenerCount('error') === 0) stream.on('error', () => undefined)
  }
}
