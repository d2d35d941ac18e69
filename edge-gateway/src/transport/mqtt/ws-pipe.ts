import { type CloseReason, closeCode, closeLabel, maxFrameBytes } from '@svc/proto'
import type { WebSocket } from 'ws'
import { frameErrorOf } from '../frame-error.ts'
import type { Pipe, Receiver } from './pipe.ts'

/** The messages of a WebSocket that `ws` serves. */
export class WsPipe implements Pipe {
  readonly #socket: WebSocket
  receiver: Receiver | undefined
  #ended = false
  #broken: CloseReason | undefined

  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', (bytes: Buffer, isBinary) => {
      if (this.#ended) return
      if (bytes.length > maxFrameBytes) this.#fail('OVERSIZED_FRAME')
      else if (isBinary) this.receiver?.arrived(bytes)
      else this.#fail('MALFORMED_FRAME')
    })
    // `close` follows.
    socket.on('error', (error) => {
      this.#broken ??= frameErrorOf(error)
    })
    socket.on('close', () => {
      this.#ended = true
      this.receiver?.lost(this.#broken ?? 'PEER_CLOSED')
    })
  }

  write(bytes: Uint8Array, done: () => void): void {
    if (this.#ended || this.#socket.readyState !== this.#socket.OPEN) return
    let waits = false
    this.#socket.send(bytes, { binary: true }, (error) => {
      if (waits && !error) done()
    })
    waits = this.#socket.bufferedAmount > 0
    if (!waits) done()
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  end(reason: CloseReason): void {
    if (this.#ended) return
    this.#ended = true
    // Paused, it would not see the answer to its close.
    this.#socket.resume()
    this.#socket.close(closeCode(reason), closeLabel(reason))
  }

  destroy(): void {
    this.#ended = true
    this.#socket.terminate()
  }

  #fail(reason: CloseReason): void {
    this.#broken = reason
    this.end(reason)
  }
}
