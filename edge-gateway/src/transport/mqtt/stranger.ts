import type { CloseReason } from '@svc/proto'
import { connectSize } from './connect.ts'
import type { Pipe, Receiver } from './pipe.ts'

export interface StrangerDeps {
  /** when it must have said who it is, in ms from now */
  withinMs: number
  /** A whole CONNECT has come, and what came with it. */
  introduced: (stranger: Stranger, connect: Buffer, early: Buffer) => void
  /** It is no more; the pipe has ended, or is to be ended for that reason. */
  ended: (stranger: Stranger, reason: CloseReason) => void
}

/** A connection that has not said who it is: a socket, a timer, and no more bytes than a CONNECT may have. */
export class Stranger implements Receiver {
  readonly pipe: Pipe
  readonly address: string
  readonly #deps: StrangerDeps
  readonly #timer: NodeJS.Timeout
  #bytes: Buffer | undefined

  constructor(pipe: Pipe, address: string, deps: StrangerDeps) {
    this.pipe = pipe
    this.address = address
    this.#deps = deps
    this.#timer = setTimeout(() => this.end('ADMISSION_TIMEOUT'), deps.withinMs)
  }

  arrived(bytes: Buffer): void {
    this.#bytes = this.#bytes ? Buffer.concat([this.#bytes, bytes]) : bytes
    const size = connectSize(this.#bytes)
    if (typeof size === 'string') return this.end(size)
    if (size === undefined || this.#bytes.length < size) return
    clearTimeout(this.#timer)
    this.#deps.introduced(this, this.#bytes.subarray(0, size), this.#bytes.subarray(size))
  }

  lost(reason: CloseReason): void {
    this.end(reason)
  }

  end(reason: CloseReason): void {
    clearTimeout(this.#timer)
    this.#bytes = undefined
    this.#deps.ended(this, reason)
  }
}
