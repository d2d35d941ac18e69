import type { Connection, ConnectionHandlers, Transport } from '../transport/transport.ts'

/** A transport whose network can fail: what is connected is cut without a word, and until it is back nothing connects. */
export class Tether implements Transport {
  readonly #transport: Transport
  #current: Connection | undefined
  #cut = false

  constructor(transport: Transport) {
    this.#transport = transport
  }

  connect(handlers: ConnectionHandlers): Connection {
    if (this.#cut) return noNetwork(handlers)
    this.#current = this.#transport.connect(handlers)
    return this.#current
  }

  cut(): void {
    this.#cut = true
    this.#current?.drop()
  }

  mend(): void {
    this.#cut = false
  }
}

function noNetwork(handlers: ConnectionHandlers): Connection {
  setImmediate(() => handlers.closed('PEER_CLOSED', 'ENETUNREACH'))
  return { send: () => {}, buffered: 0, close: () => {}, drop: () => {} }
}
