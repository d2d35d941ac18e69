import type { Socket } from 'node:net'
import type { Pipe, Receiver } from './pipe.ts'

/** How long a peer may take to read what was written before the end. */
const lingerMs = 2_000

/** A TCP or TLS socket. */
export class SocketPipe implements Pipe {
  readonly #socket: Socket
  receiver: Receiver | undefined
  #ended = false

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => {
      if (!this.#ended) this.receiver?.arrived(bytes)
    })
    // `close` follows.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#ended = true
      this.receiver?.lost('PEER_CLOSED')
    })
    // It may have been paused for what came before.
    socket.resume()
  }

  write(bytes: Uint8Array, done: () => void): void {
    if (this.#ended) return
    let waits = false
    this.#socket.write(bytes, (error) => {
      if (waits && !error) done()
    })
    // Told in a later turn only where the system did not take it at once.
    waits = this.#socket.writableLength > 0
    if (!waits) done()
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  end(): void {
    if (this.#ended) return
    if (this.#socket.bytesWritten === 0) return this.destroy()
    this.#ended = true
    this.#socket.end()
    // Were it left unread, what still comes would have the system reset the connection, and with it our last word.
    this.#socket.resume()
    setTimeout(() => this.#socket.destroy(), lingerMs).unref()
  }

  destroy(): void {
    this.#ended = true
    this.#socket.destroy()
  }
}
