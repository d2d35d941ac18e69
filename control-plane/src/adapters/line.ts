import { Socket } from 'node:net'

/** There is no database to talk to at this moment; nothing was asked of it. */
export class DatabaseAway extends Error {
  override name = 'DatabaseAway'
  readonly code = 'DATABASE_AWAY'

  constructor() {
    super('the database does not answer')
  }
}

/** Where a pool says that its database is: what postgres.js made of a URL. */
export interface Reached {
  host: readonly string[]
  port: readonly number[]
  path?: string | false | undefined
}

/**
 * All sockets of a process to its database. Of a server that hangs a driver hears nothing, and waits; so do those who wait for its
 * connections. Whoever finds that out cuts the line: then all of them are told, and connections are made anew.
 */
export class Line {
  /** no connection is made now: it would only wait */
  away = false
  readonly #sockets = new Set<Socket>()
  #heardBefore = 0
  #attempts = 0

  /** A socket on its way there, as postgres.js wants one. @param probing while the line is away, too */
  open({ host, port, path }: Reached, probing = false): Socket {
    if (this.away && !probing) {
      const socket = new Socket()
      // Not before its driver listens to it. One that could not be had at all postgres.js would take for one that still comes.
      setImmediate(() => socket.destroy(new DatabaseAway()))
      return socket
    }
    const socket = this.unconnected()
    const at = this.#attempts++ % host.length
    // For the name in its certificate.
    Object.assign(socket, { host: host[at] })
    return path ? socket.connect(path) : socket.connect(port[at] ?? 5432, host[at] ?? 'localhost')
  }

  /** One of them that its driver connects by itself, as node-postgres does. */
  unconnected(): Socket {
    const socket = new Socket()
    this.#sockets.add(socket)
    return socket
  }

  /** Bytes that came in over all sockets, ever. Their listeners are the drivers' own, and so are not asked. */
  heard(): number {
    let heard = this.#heardBefore
    for (const socket of this.#sockets) {
      heard += socket.bytesRead
      if (!socket.destroyed) continue
      this.#heardBefore += socket.bytesRead
      this.#sockets.delete(socket)
    }
    return heard
  }

  /** Ends all of its connections, whatever they wait for. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
