import { type CloseReason, closeCode, closeLabel, maxFrameBytes } from '@svc/proto'
import type {
  HttpRequest,
  HttpResponse,
  TemplatedApp,
  us_listen_socket,
  us_socket_context_t,
  WebSocket,
} from 'uWebSockets.js'
import { addressText, clientAddress } from './address.ts'
import { readGreeting } from './greeting.ts'
import { listeningAt } from './listening.ts'
import {
  abrupt,
  CertificateUnusable,
  type Doorway,
  frameSlackBytes,
  type Greeting,
  type Handlers,
  type Link,
  type Listening,
  agentPortTaken,
  type SocketOptions,
  subprotocol,
  type TlsFiles,
  type Transport,
} from './link.ts'
import { serveMqtt } from './mqtt/uws-pipe.ts'

/** The package as it loads. Rejects where its binary does not run: another system, Node version or C library. */
export const loadEngine = async () => (await import('uWebSockets.js')).default
type Engine = Awaited<ReturnType<typeof loadEngine>>

/** Copied by the engine onto the socket's own object, which is the one object a connection has there. */
interface OnSocket {
  greeting: Greeting | undefined
  link: UwsLink | undefined
}
type Socket = WebSocket<OnSocket> & OnSocket

const sentAtOnce = 1
/**
 * Without LIBUS_LISTEN_EXCLUSIVE_PORT (the declarations have the name only as a type) the engine sets SO_REUSEPORT, and any other
 * process of this user shares the port, and with it the agents, silently.
 */
const listening = { exclusive: 1, shared: 0 } as const

class UwsLink implements Link {
  /** undefined once closed: the engine throws on any touch after that, and uncaught in a callback that ends the process */
  socket: Socket | undefined
  handlers: Handlers | undefined
  readonly #options: SocketOptions

  constructor(socket: Socket, options: SocketOptions) {
    this.socket = socket
    this.handlers = undefined
    this.#options = options
  }

  get backlog(): number {
    return this.socket?.getBufferedAmount() ?? 0
  }

  get via(): 'websocket' {
    return 'websocket'
  }

  /** The upgrade was the wire's own word. */
  admitted(): void {}

  send(frame: Uint8Array): 'sent' | 'queued' | 'dropped' {
    if (!this.socket) return 'dropped'
    // The engine's own limit would drop without a word, so it is set out of reach and this one decides. A frame that is larger
    // than the limit may still go alone.
    const backlog = this.socket.getBufferedAmount()
    if (backlog > 0 && backlog + frame.length > this.#options.maxBacklogBytes) return 'dropped'
    return this.socket.send(frame, true) === sentAtOnce ? 'sent' : 'queued'
  }

  close(reason: CloseReason): void {
    const { socket } = this
    if (!socket) return
    this.socket = undefined
    this.handlers = undefined
    if (abrupt.has(reason)) socket.close()
    else socket.end(closeCode(reason), closeLabel(reason))
  }

  /** Ends it and tells the handlers: for what the wire itself finds wrong. */
  fail(reason: CloseReason): void {
    const { handlers } = this
    this.close(reason)
    handlers?.gone(reason)
  }
}

/** What the engine says in its close callback where a frame of the peer made it end the connection. */
const engineReasons: Record<string, CloseReason> = {
  'Received too big message': 'OVERSIZED_FRAME',
  'Received invalid WebSocket frame': 'MALFORMED_FRAME',
  'WebSocket timed out from inactivity': 'KEEPALIVE_TIMEOUT',
}
const abnormalClosure = 1006

const statusLines = {
  200: '200 OK',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  404: '404 Not Found',
  429: '429 Too Many Requests',
  503: '503 Service Unavailable',
} as const

/** WebSocket over uWebSockets.js. Everything peculiar about that engine stays in this file. */
export class UwsTransport implements Transport {
  readonly engine = 'uWebSockets.js'
  readonly #options: SocketOptions
  readonly #engine: Engine
  readonly #app: TemplatedApp
  #socket: us_listen_socket | undefined
  /** what it listens on, or did before a pause */
  #port: number
  /** connections that have not asked for anything that lasts: the engine waits half a minute for that, and cannot be told otherwise */
  #beginning = 0
  #stopped = false
  #closed = false

  constructor(engine: Engine, options: SocketOptions) {
    this.#engine = engine
    this.#options = options
    this.#port = options.port
    this.#app = options.tls ? secureApp(engine, options.tls) : engine.App()
  }

  async listen(doorway: Doorway): Promise<Listening> {
    this.#route(doorway)
    await this.resume()
    const { host, port, tls } = this.#options
    if (port === 0) await this.#listenAnew()
    return listeningAt(tls ? 'wss' : 'ws', host, this.#port, this.#options.mqtt)
  }

  pause(): void {
    if (this.#socket) this.#engine.us_listen_socket_close(this.#socket)
    this.#socket = undefined
  }

  async resume(): Promise<void> {
    if (this.#socket || this.#stopped) return
    const { host, shared } = this.#options
    const socket = await listenOn(
      this.#app,
      host,
      this.#port,
      shared ? listening.shared : listening.exclusive,
    )
    if (!socket) throw agentPortTaken(host, this.#port)
    this.#socket = socket
    this.#port = this.#engine.us_socket_local_port(socket)
  }

  /** On a port of its own choice the engine leaves SO_REUSEADDR out; connections would then be in the way of listening again. */
  #listenAnew(): Promise<void> {
    this.pause()
    return this.resume()
  }

  stop(): void {
    this.#stopped = true
    this.pause()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.stop()
    this.#app.close()
  }

  #route(doorway: Doorway): void {
    const { idleSeconds, maxBacklogBytes, mqtt } = this.#options
    const shared = {
      maxPayloadLength: maxFrameBytes + frameSlackBytes,
      idleTimeout: idleSeconds,
      sendPingsAutomatically: true,
      compression: this.#engine.DISABLED,
      maxBackpressure: maxBacklogBytes + 2 * maxFrameBytes,
      closeOnBackpressureLimit: false,
    }
    this.#app.filter((res, change) => this.#came(doorway, res, Number(change)))
    this.#app.ws<OnSocket>('/agent', {
      ...shared,
      upgrade: (res, req, context) => this.#upgrade(doorway, res, req, context),
      open: (socket) => this.#open(doorway, socket as Socket),
      message: (socket, bytes, isBinary) => receive(doorway, (socket as Socket).link, bytes, isBinary),
      drain: (socket) => {
        const { link } = socket as Socket
        if (link?.backlog === 0) link.handlers?.room()
      },
      close: (socket, code, message) => this.#gone(socket as Socket, code, message),
    })
    if (mqtt)
      serveMqtt(this.#app, {
        entrance: mqtt,
        shared,
        addressOf: (res, req) => this.#knock(doorway, res, req),
        upgraded: () => void this.#beginning--,
        reasonOf: (code, message) => this.#reasonOf(code, message),
        turnAway: (res, status) => {
          this.#rejected(doorway, res, status)
          turnAway(res, status)
        },
      })
    this.#app.get('/health', (res) => json(res, doorway.health('/health')))
    this.#app.get('/health/ready', (res) => json(res, doorway.health('/health/ready')))
    this.#app.any('/*', (res) =>
      json(res, { status: 404, body: { error: { code: 'NOT_FOUND', message: 'no such page' } } }),
    )
  }

  /**
   * A connection came, or one ended that was not upgraded: nothing is known of it but where it is from. Whoever answers for others is
   * asked when it has said for whom.
   */
  #came(doorway: Doorway, res: HttpResponse, change: number): void {
    this.#beginning += change
    if (change < 0) return
    const peer = addressText(new Uint8Array(res.getRemoteAddress()))
    const { trusted, maxBeginning } = this.#options
    const known = trusted(peer)
    const status = !known && this.#beginning > maxBeginning ? 503 : known || doorway.knock(peer) ? 200 : 429
    if (status === 200) return
    doorway.rejected(status)
    res.close()
  }

  #upgrade(doorway: Doorway, res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const headers = {
      authorization: req.getHeader('authorization'),
      protocol: req.getHeader('sec-websocket-protocol'),
    }
    const door = doorway.open()
    const address = door === true ? this.#knock(doorway, res, req) : ''
    const greeting = address === undefined ? 429 : door === true ? readGreeting(headers, address) : door
    if (typeof greeting === 'number') {
      this.#rejected(doorway, res, greeting)
      return turnAway(res, greeting)
    }
    this.#beginning--
    res.upgrade<OnSocket>(
      { greeting, link: undefined },
      req.getHeader('sec-websocket-key'),
      subprotocol,
      req.getHeader('sec-websocket-extensions'),
      context,
    )
  }

  /** Who came when we were busy has knocked for nothing. */
  #rejected(doorway: Doorway, res: HttpResponse, status: number): void {
    const peer = addressText(new Uint8Array(res.getRemoteAddress()))
    if (status === 503 && !this.#options.trusted(peer)) doorway.rejected(status, peer)
    else doorway.rejected(status)
  }

  /** Who asks; undefined: its address has too many that nobody knows. Who came by itself was counted then. */
  #knock(doorway: Doorway, res: HttpResponse, req: HttpRequest): string | undefined {
    const peer = addressText(new Uint8Array(res.getRemoteAddress()))
    if (!this.#options.trusted(peer)) return peer
    const address = this.#addressOf(peer, res, req)
    return address === peer || doorway.knock(address) ? address : undefined
  }

  #addressOf(peer: string, res: HttpResponse, req: HttpRequest): string {
    const { trusted } = this.#options
    const proxied = new Uint8Array(res.getProxiedRemoteAddress())
    return clientAddress(
      {
        peer,
        proxied: proxied.length > 0 ? addressText(proxied) : '',
        forwarded: this.#options.firstLineAlone
          ? req.getHeader('x-forwarded-for')
          : allLinesOf(req, 'x-forwarded-for'),
      },
      trusted,
    )
  }

  #open(doorway: Doorway, socket: Socket): void {
    const { greeting } = socket
    if (!greeting) return
    const link = new UwsLink(socket, this.#options)
    socket.greeting = undefined
    socket.link = link
    guarded(doorway, link, () => {
      link.handlers = doorway.accept(link, greeting)
    })
  }

  #gone(socket: Socket, code: number, message: ArrayBuffer): void {
    const { link } = socket
    if (!link) return
    const { handlers } = link
    link.socket = undefined
    link.handlers = undefined
    socket.link = undefined
    handlers?.gone(this.#reasonOf(code, message))
  }

  /** A close code of the peer's is not taken at its word: only a Goodbye says more than that it went (interface §Presence). */
  #reasonOf(code: number, message: ArrayBuffer): CloseReason {
    if (this.#closed) return 'DRAINING'
    const told = code === abnormalClosure ? engineReasons[Buffer.from(message).toString('latin1')] : undefined
    return told ?? 'PEER_CLOSED'
  }
}

/**
 * All lines of that name as one, in their order (RFC 9110 §5.3). `getHeader` answers the first line alone: with a proxy that adds a line
 * of its own behind the client's, that is the client's word.
 */
const allLinesOf = (req: HttpRequest, wanted: string): string => {
  const lines: string[] = []
  req.forEach((name, value) => {
    if (name === wanted) lines.push(value)
  })
  return lines.join(',')
}

/** The engine says only that it failed, so the files are named here. */
const secureApp = (engine: Engine, { certFile, keyFile }: TlsFiles): TemplatedApp => {
  const files = { cert_file_name: certFile, key_file_name: keyFile }
  try {
    return engine.SSLApp({ ...files, ssl_prefer_low_memory_usage: true })
  } catch (cause) {
    throw new CertificateUnusable(certFile, keyFile, cause)
  }
}

/** The engine takes a host and options together; its declarations know only either. */
const listenOn = (
  app: TemplatedApp,
  host: string,
  port: number,
  options: number,
): Promise<us_listen_socket | false> => {
  const listen = app.listen.bind(app) as unknown as (
    host: string,
    port: number,
    options: number,
    listening: (socket: us_listen_socket | false) => void,
  ) => void
  return new Promise((resolve) => listen(host, port, options, resolve))
}

/** The engine takes the buffer back when this returns, so the bytes are copied. */
const receive = (
  doorway: Doorway,
  link: UwsLink | undefined,
  bytes: ArrayBuffer,
  isBinary: boolean,
): void => {
  if (!link?.handlers) return
  if (!isBinary) return link.fail('MALFORMED_FRAME')
  if (bytes.byteLength > maxFrameBytes) return link.fail('OVERSIZED_FRAME')
  const copy = Buffer.from(new Uint8Array(bytes))
  guarded(doorway, link, () => link.handlers?.frame(copy))
}

/** An error of ours ends one connection, never the process. */
const guarded = (doorway: Doorway, link: UwsLink, run: () => void): void => {
  try {
    run()
  } catch (error) {
    doorway.failed(error)
    link.fail('INTERNAL_ERROR')
  }
}

/** Answers at once. `onAborted` stands first all the same: a route without it can end the process. */
const json = (res: HttpResponse, { status, body }: { status: number; body: unknown }): void => {
  res.onAborted(() => {})
  res
    .writeStatus(statusLines[status as keyof typeof statusLines] ?? `${status}`)
    .writeHeader('content-type', 'application/json')
    .writeHeader('cache-control', 'no-store')
    .end(JSON.stringify(body))
}

const turnAway = (res: HttpResponse, status: 400 | 401 | 429 | 503): void => {
  res.onAborted(() => {})
  res.writeStatus(statusLines[status])
  if (status === 401) res.writeHeader('www-authenticate', 'Bearer')
  if (status === 429 || status === 503) res.writeHeader('retry-after', '5')
  res.endWithoutBody(0, true)
}
