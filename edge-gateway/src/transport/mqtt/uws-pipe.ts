import { type CloseReason, closeCode, closeLabel, maxFrameBytes } from '@svc/proto'
import type { TemplatedApp, WebSocket, WebSocketBehavior } from 'uWebSockets.js'
import { mqttSubprotocol, offers } from '../link.ts'
import type { Entrance, Pipe, Receiver } from './pipe.ts'

/** On the socket's own object, as {@link UwsPipe} is. */
interface OnSocket {
  address: string
  pipe: UwsPipe | undefined
}
type Socket = WebSocket<OnSocket> & OnSocket

/** The messages of a WebSocket that uWebSockets.js serves. The engine cannot be asked to pause. */
class UwsPipe implements Pipe {
  /** undefined once closed: the engine throws on any touch after that */
  socket: Socket | undefined
  receiver: Receiver | undefined
  #written: (() => void) | undefined
  #broken: CloseReason | undefined

  constructor(socket: Socket) {
    this.socket = socket
  }

  write(bytes: Uint8Array, done: () => void): void {
    if (!this.socket) return
    this.socket.send(bytes, true)
    if (this.socket.getBufferedAmount() > 0) this.#written = done
    else done()
  }

  drained(): void {
    if (!this.socket || this.socket.getBufferedAmount() > 0) return
    const written = this.#written
    this.#written = undefined
    written?.()
  }

  pause(): void {}

  resume(): void {}

  end(reason: CloseReason): void {
    const { socket } = this
    this.socket = undefined
    socket?.end(closeCode(reason), closeLabel(reason))
  }

  destroy(): void {
    const { socket } = this
    this.socket = undefined
    socket?.close()
  }

  /** The engine says so from inside `end` and `close`, too. */
  closed(reason: CloseReason): void {
    const told = this.#broken ?? reason
    this.socket = undefined
    setImmediate(() => this.receiver?.lost(told))
  }

  /** What the peer sent is wrong in itself. */
  fail(reason: CloseReason): void {
    this.#broken = reason
    this.end(reason)
  }
}

export interface MqttRoute {
  entrance: Entrance
  /** as of the route for agents */
  shared: Pick<
    WebSocketBehavior<OnSocket>,
    | 'maxPayloadLength'
    | 'idleTimeout'
    | 'sendPingsAutomatically'
    | 'compression'
    | 'maxBackpressure'
    | 'closeOnBackpressureLimit'
  >
  /** who asks; undefined: its address has too many that nobody knows */
  addressOf: (...upgrade: Parameters<Upgrade>) => string | undefined
  /** a request was upgraded */
  upgraded: () => void
  /** why the engine closed it, by what it says there */
  reasonOf: (code: number, message: ArrayBuffer) => CloseReason
  turnAway: (response: Parameters<Upgrade>[0], status: 400 | 429 | 503) => void
}
type Upgrade = (...args: Parameters<NonNullable<WebSocketBehavior<OnSocket>['upgrade']>>) => void

/** Serves MQTT over WebSocket at `/mqtt`: the credential is in the CONNECT, so the upgrade needs none. */
export function serveMqtt(app: TemplatedApp, { entrance, shared, ...route }: MqttRoute): void {
  const { addressOf, upgraded, reasonOf, turnAway } = route
  app.ws<OnSocket>('/mqtt', {
    ...shared,
    upgrade: (res, req, context) => {
      const offered = offers(req.getHeader('sec-websocket-protocol'), mqttSubprotocol) || 400
      const door = entrance.open()
      const verdict = door === true ? offered : door
      if (verdict !== true) return turnAway(res, verdict)
      const address = addressOf(res, req, context)
      if (address === undefined) return turnAway(res, 429)
      upgraded()
      res.upgrade<OnSocket>(
        { address, pipe: undefined },
        req.getHeader('sec-websocket-key'),
        mqttSubprotocol,
        req.getHeader('sec-websocket-extensions'),
        context,
      )
    },
    open: (socket) => {
      const onSocket = socket as Socket
      onSocket.pipe = new UwsPipe(onSocket)
      entrance.take(onSocket.pipe, onSocket.address)
    },
    message: (socket, bytes, isBinary) => {
      const { pipe } = socket as Socket
      if (!pipe?.socket) return
      if (!isBinary) return pipe.fail('MALFORMED_FRAME')
      if (bytes.byteLength > maxFrameBytes) return pipe.fail('OVERSIZED_FRAME')
      // The engine takes the buffer back when this returns.
      pipe.receiver?.arrived(Buffer.from(new Uint8Array(bytes)))
    },
    drain: (socket) => (socket as Socket).pipe?.drained(),
    close: (socket, code, message) => {
      const { pipe } = socket as Socket
      ;(socket as Socket).pipe = undefined
      pipe?.closed(reasonOf(code, message))
    },
  })
}
