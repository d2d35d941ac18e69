import { readFileSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TlsOptions } from 'node:tls'
import { type CloseReason, closeCode, closeLabel, maxFrameBytes } from '@svc/proto'
import { type WebSocket, WebSocketServer } from 'ws'
import { clientAddress } from './address.ts'
import { frameErrorOf } from './frame-error.ts'
import { readGreeting } from './greeting.ts'
import { listeningAt } from './listening.ts'
import {
  abrupt,
  agentPortTaken,
  CertificateUnusable,
  type Doorway,
  frameSlackBytes,
  type Handlers,
  type Link,
  type Listening,
  mqttSubprotocol,
  offers,
  type SocketOptions,
  subprotocol,
  type TlsFiles,
  type Transport,
} from './link.ts'
import { WsPipe } from './mqtt/ws-pipe.ts'

class WsLink implements Link {
  readonly socket: WebSocket
  readonly #maxBacklogBytes: number
  handlers: Handlers | undefined
  /** a ping is out and nothing has come back */
  pinged = false

  constructor(socket: WebSocket, maxBacklogBytes: number) {
    this.socket = socket
    this.#maxBacklogBytes = maxBacklogBytes
  }

  get backlog(): number {
    return this.socket.readyState === this.socket.OPEN ? this.socket.bufferedAmount : 0
  }

  get via(): 'websocket' {
    return 'websocket'
  }

  /** The upgrade was the wire's own word. */
  admitted(): void {}

  send(frame: Uint8Array): 'sent' | 'queued' | 'dropped' {
    if (this.socket.readyState !== this.socket.OPEN) return 'dropped'
    const { backlog } = this
    if (backlog > 0 && backlog + frame.length > this.#maxBacklogBytes) return 'dropped'
    this.socket.send(frame)
    return this.backlog > 0 ? 'queued' : 'sent'
  }

  close(reason: CloseReason): void {
    this.handlers = undefined
    if (abrupt.has(reason)) this.socket.terminate()
    else this.socket.close(closeCode(reason), closeLabel(reason))
  }

  fail(reason: CloseReason): void {
    const { handlers } = this
    this.close(reason)
    handlers?.gone(reason)
  }
}

/** WebSocket over node:http and `ws`: for systems where uWebSockets.js does not run. */
export class WsTransport implements Transport {
  readonly engine = 'ws'
  readonly #options: SocketOptions
  readonly #server: Server
  readonly #upgrades = upgradesTo(subprotocol)
  readonly #mqttUpgrades = upgradesTo(mqttSubprotocol)
  readonly #links = new Set<WsLink>()
  #pings: NodeJS.Timeout | undefined
  /** what it listens on, or did before a pause */
  #port: number
  #stopped = false
  #closed = false

  constructor(options: SocketOptions) {
    this.#options = options
    this.#port = options.port
    this.#server = serverOf(options)
  }

  async listen(doorway: Doorway): Promise<Listening> {
    const { host, tls, idleSeconds } = this.#options
    this.#server.on('connection', (socket) => this.#came(doorway, socket))
    this.#server.on('request', (request, response) => answer(doorway, request, response))
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(doorway, request, socket, head))
    this.#pings = setInterval(() => this.#ping(), (idleSeconds * 1000) / 2)
    this.#pings.unref()
    await this.resume()
    // While listening it is one accept that failed, which is no reason to end.
    this.#server.on('error', (error) => this.#server.listening && doorway.failed(error))
    return listeningAt(tls ? 'wss' : 'ws', host, this.#port, this.#options.mqtt)
  }

  pause(): void {
    if (this.#server.listening) this.#server.close()
  }

  /** In a worker of a cluster the port is shared by node:net itself. */
  async resume(): Promise<void> {
    if (this.#server.listening || this.#stopped) return
    const { host } = this.#options
    await new Promise<void>((resolve, reject) => {
      const refused = (error: Error) => reject(agentPortTaken(host, this.#port, error))
      this.#server.once('error', refused)
      this.#server.listen(this.#port, host, () => {
        this.#server.off('error', refused)
        resolve()
      })
    })
    this.#port = (this.#server.address() as AddressInfo).port
    if (this.#stopped) this.pause()
  }

  stop(): void {
    this.#stopped = true
    this.pause()
    this.#server.closeIdleConnections()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.stop()
    clearInterval(this.#pings)
    for (const link of this.#links) link.fail('DRAINING')
    this.#server.closeAllConnections()
  }

  #upgrade(doorway: Doorway, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const path = request.url?.split('?')[0]
    const { authorization = '' } = request.headers
    const protocol = request.headers['sec-websocket-protocol'] ?? ''
    if (path === '/mqtt' && this.#options.mqtt) return this.#upgradeMqtt(doorway, request, socket, head)
    if (path !== '/agent') return turnAway(socket, 404)
    const door = doorway.open()
    const address = door === true ? this.#knock(doorway, request) : ''
    const greeting =
      address === undefined ? 429 : door === true ? readGreeting({ authorization, protocol }, address) : door
    if (typeof greeting === 'number') {
      this.#rejected(doorway, request, greeting)
      return turnAway(socket, greeting)
    }
    this.#upgrades.handleUpgrade(request, socket, head, (upgraded) => {
      const link = new WsLink(upgraded, this.#options.maxBacklogBytes)
      this.#attach(doorway, link, socket)
      guarded(doorway, link, () => {
        link.handlers = doorway.accept(link, greeting)
      })
    })
  }

  /** The credential is in the CONNECT, so the upgrade needs none. */
  #upgradeMqtt(doorway: Doorway, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { mqtt } = this.#options
    const door = mqtt?.open()
    const offered = offers(request.headers['sec-websocket-protocol'] ?? '', mqttSubprotocol)
    const status = door !== true ? 503 : offered ? undefined : 400
    const address = status === undefined ? this.#knock(doorway, request) : undefined
    if (address === undefined) {
      this.#rejected(doorway, request, status ?? 429)
      return turnAway(socket, status ?? 429)
    }
    this.#mqttUpgrades.handleUpgrade(request, socket, head, (upgraded) =>
      mqtt?.take(new WsPipe(upgraded), address),
    )
  }

  /** Nothing is known of a connection but where it is from; whoever answers for others is asked when it has said for whom. */
  #came(doorway: Doorway, socket: Socket): void {
    const peer = peerOf(socket)
    if (this.#options.trusted(peer) || doorway.knock(peer)) return
    doorway.rejected(429)
    socket.destroy()
  }

  /** Who came when we were busy has knocked for nothing. */
  #rejected(doorway: Doorway, { socket }: IncomingMessage, status: number): void {
    const peer = peerOf(socket)
    if (status === 503 && !this.#options.trusted(peer)) doorway.rejected(status, peer)
    else doorway.rejected(status)
  }

  /** Who asks; undefined: its address has too many that nobody knows. Who came by itself was counted then. */
  #knock(doorway: Doorway, request: IncomingMessage): string | undefined {
    const peer = peerOf(request.socket)
    if (!this.#options.trusted(peer)) return peer
    const address = this.#addressOf(peer, request)
    return address === peer || doorway.knock(address) ? address : undefined
  }

  #addressOf(peer: string, request: IncomingMessage): string {
    const forwarded = request.headers['x-forwarded-for']
    return clientAddress({ peer, proxied: '', forwarded: String(forwarded ?? '') }, this.#options.trusted)
  }

  #attach(doorway: Doorway, link: WsLink, wire: Duplex): void {
    this.#links.add(link)
    let broken: CloseReason | undefined
    link.socket.on('message', (data, isBinary) => {
      link.pinged = false
      if (!isBinary) return link.fail('MALFORMED_FRAME')
      if ((data as Buffer).length > maxFrameBytes) return link.fail('OVERSIZED_FRAME')
      guarded(doorway, link, () => link.handlers?.frame(data as Buffer))
    })
    link.socket.on('pong', () => {
      link.pinged = false
    })
    link.socket.on('error', (error) => {
      broken ??= frameErrorOf(error)
    })
    link.socket.on('close', () => {
      this.#links.delete(link)
      const { handlers } = link
      link.handlers = undefined
      handlers?.gone(broken ?? 'PEER_CLOSED')
    })
    wire.on('drain', () => {
      if (link.backlog === 0) link.handlers?.room()
    })
  }

  #ping(): void {
    for (const link of this.#links) {
      if (link.pinged) {
        link.fail('KEEPALIVE_TIMEOUT')
        continue
      }
      link.pinged = true
      if (link.socket.readyState === link.socket.OPEN) link.socket.ping()
    }
    // Of these the session knows when they are not there any more.
    for (const socket of this.#mqttUpgrades.clients) if (socket.readyState === socket.OPEN) socket.ping()
  }
}

const peerOf = ({ remoteAddress }: Socket): string => remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '') ?? ''

const upgradesTo = (protocol: string) =>
  new WebSocketServer({
    noServer: true,
    maxPayload: maxFrameBytes + frameSlackBytes,
    perMessageDeflate: false,
    handleProtocols: () => protocol,
  })

/** How late Node may notice that a request is overdue; by itself it looks twice a minute. */
const overdueEveryMs = 500

/** Node gives a stranger a minute for the head of a request, and two for a handshake. */
function serverOf({ tls, helloWithinMs }: SocketOptions): Server {
  const patience = {
    headersTimeout: helloWithinMs,
    requestTimeout: helloWithinMs,
    connectionsCheckingInterval: overdueEveryMs,
  }
  return tls ? secureServer(tls, { ...patience, handshakeTimeout: helloWithinMs }) : createServer(patience)
}

const secureServer = ({ certFile, keyFile }: TlsFiles, patience: TlsOptions & ServerOptions) => {
  try {
    return createTlsServer({ ...patience, cert: readFileSync(certFile), key: readFileSync(keyFile) })
  } catch (cause) {
    throw new CertificateUnusable(certFile, keyFile, cause)
  }
}

/** An error of ours ends one connection, never the process. */
const guarded = (doorway: Doorway, link: WsLink, run: () => void): void => {
  try {
    run()
  } catch (error) {
    doorway.failed(error)
    link.fail('INTERNAL_ERROR')
  }
}

const answer = (doorway: Doorway, { url, method }: IncomingMessage, response: ServerResponse): void => {
  const known = method === 'GET' && (url === '/health' || url === '/health/ready')
  const notFound = { status: 404, body: { error: { code: 'NOT_FOUND', message: 'no such page' } } }
  const { status, body } = known ? doorway.health(url) : notFound
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}

const statusLines = {
  400: '400 Bad Request',
  401: '401 Unauthorized\r\nwww-authenticate: Bearer',
  404: '404 Not Found',
  429: '429 Too Many Requests\r\nretry-after: 5',
  503: '503 Service Unavailable\r\nretry-after: 5',
} as const

const turnAway = (socket: Duplex, status: keyof typeof statusLines): void => {
  socket.end(`HTTP/1.1 ${statusLines[status]}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}
