import { createServer, connect, type Server, type Socket } from 'node:net'
import { byWayOf, listening, pass } from './loopback.ts'

/**
 * - `pass`: as if it were not there
 * - `silent`: connections stay, new ones are accepted, and nothing comes through in either direction
 * - `refuse`: new connections are closed at once
 */
export type LinkMode = 'pass' | 'silent' | 'refuse'

/** A wire between two programs, on loopback, that can be made to fail. What was swallowed does not come later. */
export class Link {
  mode: LinkMode = 'pass'
  /** what each chunk waits, in either direction; milliseconds */
  latencyMs = 0
  /** bytes per second and direction of each connection; undefined: as fast as it goes */
  bytesPerSecond: number | undefined
  readonly #to: URL
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #stranded = new WeakSet<Socket>()

  private constructor(to: URL) {
    this.#to = to
    this.#server = createServer((near) => this.#join(near))
  }

  /** @param to where it leads: a URL with host and port */
  static async to(to: string): Promise<Link> {
    const link = new Link(new URL(to))
    await listening(link.#server)
    return link
  }

  /** Where it leads, by way of it. */
  get url(): string {
    return byWayOf(this.#server, this.#to)
  }

  /** Connections that are open, both ends of each counted once. */
  get connections(): number {
    return this.#sockets.size / 2
  }

  /** Ends all of its connections with a RST. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  /** What is connected now leads nowhere any more, as when an end of it has another address: no word, no end. New ones pass. */
  strand(): void {
    for (const socket of this.#sockets) this.#stranded.add(socket)
  }

  /** Idempotent. */
  close(): void {
    this.#server.close()
    this.cut()
  }

  #join(near: Socket): void {
    if (this.mode === 'refuse') return void near.destroy()
    const far = connect(Number(this.#to.port), this.#to.hostname)
    this.#lead(near, far)
    this.#lead(far, near)
  }

  #lead(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.setNoDelay(true)
    from.on('error', () => undefined) // `close` follows
    const swallows = () => this.mode === 'silent' || this.#stranded.has(from)
    from.on('data', (chunk) => {
      if (swallows()) return
      const waitMs = this.latencyMs + (this.bytesPerSecond ? (chunk.length * 1000) / this.bytesPerSecond : 0)
      if (waitMs === 0) return pass(chunk, from, to)
      from.pause()
      setTimeout(() => {
        from.resume()
        pass(chunk, from, to)
      }, waitMs)
    })
    from.on('end', () => {
      if (!swallows()) to.end()
    })
    from.on('close', () => {
      this.#sockets.delete(from)
      if (!swallows()) to.destroy()
    })
  }
}
