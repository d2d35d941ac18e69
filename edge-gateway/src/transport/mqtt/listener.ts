import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { clientAddress } from '../address.ts'
import { PortTaken } from '../link.ts'
import { hostName } from '../listening.ts'
import type { MqttDoor } from './door.ts'
import { readProxied } from './proxy.ts'
import { SocketPipe } from './socket-pipe.ts'

export interface ListenerOptions {
  door: MqttDoor
  host: string
  /** 0: any free one */
  port: number
  /** names of the variables that move it */
  variables: string
  secure: SecureContext | undefined
  /** which peers may say on whose behalf they call */
  trusted: (address: string) => boolean
  /** what comes before MQTT, a proxy's header and the handshake of TLS, must be over by then */
  withinMs: number
  /** connections at a time that are not through with that */
  maxBeginning: number
  /** one more of that client's; false: its address has too many */
  knock: (address: string) => boolean
  /** turned away, by what would be the status in HTTP */
  rejected: (status: 429 | 503) => void
  failed: (error: unknown) => void
}

/** One port for MQTT over TCP or TLS. */
export class Listener {
  readonly #options: ListenerOptions
  readonly #server: Server
  readonly #beginning = new Set<Socket>()
  /** what it listens on, or did before a pause */
  #port: number
  #stopped = false

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#port = options.port
    this.#server = createServer({ noDelay: true }, (socket) => this.#came(socket))
    // While listening it is one accept that failed, which is no reason to end.
    this.#server.on('error', (error) => this.#server.listening && options.failed(error))
  }

  get url(): string {
    const { host, secure } = this.#options
    return `${secure ? 'mqtts' : 'mqtt'}://${hostName(host)}:${this.#port}`
  }

  /** Rejects with {@link PortTaken}. In a worker of a cluster the port is shared by node:net itself. */
  async resume(): Promise<void> {
    if (this.#server.listening || this.#stopped) return
    const { host, variables } = this.#options
    await new Promise<void>((resolve, reject) => {
      const refused = (cause: Error) =>
        reject(new PortTaken(`cannot listen on ${host} port ${this.#port}: set ${variables}`, { cause }))
      this.#server.once('error', refused)
      this.#server.listen(this.#port, host, () => {
        this.#server.off('error', refused)
        resolve()
      })
    })
    this.#port = (this.#server.address() as AddressInfo).port
    if (this.#stopped) this.pause()
  }

  pause(): void {
    if (this.#server.listening) this.#server.close()
  }

  stop(): void {
    this.#stopped = true
    this.pause()
  }

  close(): void {
    this.stop()
    for (const socket of this.#beginning) socket.destroy()
  }

  #came(socket: Socket): void {
    const { door, trusted, secure, withinMs, maxBeginning, knock, rejected } = this.#options
    socket.on('error', () => socket.destroy())
    if (this.#beginning.size >= maxBeginning || door.open() !== true) {
      rejected(503)
      return void socket.destroy()
    }
    const peer = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '') ?? ''
    const turnAway = () => {
      rejected(429)
      socket.destroy()
    }
    if (!trusted(peer) && !knock(peer)) return turnAway()
    const bornAt = performance.now()
    const take = (through: Socket, proxied: string) => {
      const address = clientAddress({ peer, proxied, forwarded: '' }, trusted)
      if (address !== peer && !knock(address)) return turnAway()
      door.take(new SocketPipe(through), address, bornAt)
    }
    if (!secure && !trusted(peer)) return take(socket, '')
    const through = this.#begin(socket, withinMs)
    const encrypted = (proxied: string) => {
      if (!secure) return take(through(socket), proxied)
      const tls = new TLSSocket(socket, { isServer: true, secureContext: secure })
      tls.once('secure', () => take(through(tls), proxied))
      tls.on('error', () => {
        if (this.#beginning.has(socket)) this.#lose(socket)
      })
    }
    if (trusted(peer)) this.#readProxied(socket, encrypted)
    else encrypted('')
  }

  /** Returns what is to be called when the beginning is over. */
  #begin(socket: Socket, withinMs: number): (through: Socket) => Socket {
    this.#beginning.add(socket)
    const timer = setTimeout(() => {
      this.#options.door.strayed('ADMISSION_TIMEOUT')
      socket.destroy()
    }, withinMs)
    const over = () => {
      clearTimeout(timer)
      this.#beginning.delete(socket)
    }
    socket.once('close', over)
    return (through) => {
      over()
      socket.off('close', over)
      return through
    }
  }

  #readProxied(socket: Socket, found: (address: string) => void): void {
    let bytes = Buffer.alloc(0)
    const read = (more: Buffer) => {
      bytes = Buffer.concat([bytes, more])
      const said = readProxied(bytes)
      if (said === undefined) return
      socket.off('data', read)
      socket.pause()
      if (said === 'broken') return this.#lose(socket)
      if (bytes.length > said.bytes) socket.unshift(bytes.subarray(said.bytes))
      found(said.address ?? '')
    }
    socket.on('data', read)
  }

  #lose(socket: Socket): void {
    this.#options.door.strayed('MALFORMED_FRAME')
    socket.destroy()
  }
}
