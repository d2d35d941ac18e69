import { type CloseReason, closeCode, closeReasonOf, maxFrameBytes } from '@svc/proto'
import { WebSocket } from 'ws'
import type { Random } from '../clock.ts'
import { rounds } from './rounds.ts'
import type { Connection, ConnectionHandlers, Transport } from './transport.ts'

const subprotocol = 'svc.agent.v1'
const handshakeTimeoutMs = 15_000
/** How long a polite close may take before the socket is cut. */
const closeWithinMs = 2_000

export interface WebSocketOptions {
  /** Gateways, tried in rounds of random order, so that the loss of one spreads its devices over the others. */
  urls: readonly string[]
  /** The device's token, asked for at each connection. */
  token: () => string
  random: Random
}

/** One binary message = one Envelope. Compression is off: frames are small and mostly random bytes. */
export const webSocketTransport = ({ urls, token, random }: WebSocketOptions): Transport => {
  const next = rounds(urls, random)
  return { connect: (handlers) => openSocket(next() ?? '', token(), handlers) }
}

function openSocket(url: string, token: string, handlers: ConnectionHandlers): Connection {
  const socket = new WebSocket(url, subprotocol, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
    handshakeTimeout: handshakeTimeoutMs,
    maxPayload: maxFrameBytes,
  })
  let detail = ''
  let retryAfterMs: number | undefined
  socket.on('open', () => handlers.opened())
  socket.on('message', (data: Buffer) => handlers.frame(data))
  socket.on('error', (error: NodeJS.ErrnoException) => {
    detail ||= error.code ?? error.message
  })
  // An answer in HTTP is no word of the agent protocol: a proxy in between must not be able to end an agent for good.
  socket.on('unexpected-response', (_request, response) => {
    detail = `HTTP ${response.statusCode}`
    const seconds = Number(response.headers['retry-after'])
    if (seconds > 0) retryAfterMs = seconds * 1000
    response.resume()
    socket.terminate()
  })
  socket.on('close', (code, text) => {
    handlers.closed(closeReasonOf(code), text.toString() || detail || `code ${code}`, retryAfterMs)
  })
  return asConnection(socket)
}

const asConnection = (socket: WebSocket): Connection => ({
  // A failed write ends in `close`, which says all there is to say.
  send: (frame) => socket.send(frame, () => {}),
  get buffered() {
    return socket.bufferedAmount
  },
  close: (reason: CloseReason) => {
    if (socket.readyState !== WebSocket.OPEN) return socket.terminate()
    socket.close(closeCode(reason))
    setTimeout(() => socket.terminate(), closeWithinMs).unref()
  },
  drop: () => socket.terminate(),
})
