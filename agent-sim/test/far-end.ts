import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import type { Duplex } from 'node:stream'
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws'
import type { TransportKind } from '../src/transport/kinds.ts'
import { type MqttEnd, speakMqtt } from './mqtt-wire.ts'

/** One frame as it came, and whether the sender wanted it acknowledged. */
export interface Arrived {
  text: string
  acknowledged: boolean | undefined
}

/** A server at which one transport is tried, whose behaviour is the test's. */
export class FarEnd {
  readonly arrived: Arrived[] = []
  /** what MQTT clients asked for: credentials and topics */
  readonly said: string[] = []
  /** how clients left, in order */
  readonly gone: string[] = []
  /** the HTTP status of refused upgrades; 0: none is refused */
  httpStatus = 0
  httpHeaders: Record<string, string> = {}
  returnCode = 0
  grantsTopics = true
  acknowledges = true
  url = ''
  /** Says something to the newest client. */
  say: (text: string) => void = () => {}
  acknowledge: () => void = () => {}
  /** Ends the newest client's connection, over WebSocket with that code. */
  end: (code: number) => void = () => {}
  readonly #server: Server
  readonly #open = new Set<{ destroy(): void }>()

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => {
      this.#open.add(socket)
      socket.on('close', () => this.#open.delete(socket))
    })
  }

  static async open(kind: TransportKind): Promise<FarEnd> {
    const server = kind === 'mqtt' ? createTcpServer() : createHttpServer()
    const end = new FarEnd(server)
    if (kind === 'mqtt') server.on('connection', (socket: Duplex) => end.#mqtt(socket))
    else end.#upgrades(kind)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const [scheme, path] = kind === 'mqtt' ? ['mqtt', ''] : ['ws', kind === 'websocket' ? '/agent' : '/mqtt']
    end.url = `${scheme}://127.0.0.1:${port}${path}`
    return end
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#open) socket.destroy()
    await once(this.#server, 'close')
  }

  #upgrades(kind: TransportKind): void {
    const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
    this.#server.on('upgrade', (request, socket: Duplex, head: Buffer) => {
      const headers = Object.entries(this.httpHeaders).map(([name, value]) => `${name}: ${value}\r\n`)
      if (this.httpStatus > 0)
        return socket.end(`HTTP/1.1 ${this.httpStatus} No\r\n${headers.join('')}content-length: 0\r\n\r\n`)
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        if (kind === 'websocket') this.#webSocket(webSocket)
        else {
          const stream = createWebSocketStream(webSocket)
          webSocket.on('close', () => stream.destroy())
          this.#mqtt(stream)
        }
        this.end = (code) => webSocket.close(code)
      })
    })
  }

  #webSocket(socket: WebSocket): void {
    this.say = (text) => socket.send(Buffer.from(text))
    socket.on('message', (data: Buffer) =>
      this.arrived.push({ text: data.toString(), acknowledged: undefined }),
    )
    socket.on('close', (code) => this.gone.push(`code ${code}`))
  }

  #mqtt(stream: Duplex): void {
    let client = ''
    const unacknowledged: number[] = []
    const wire: MqttEnd = speakMqtt(stream, {
      connect: ({ clientId, username, password, clean, keepalive }) => {
        client = clientId
        this.said.push(
          `connect ${clientId} ${username} ${password}${clean ? ' clean' : ''} keepalive ${keepalive}`,
        )
        return this.returnCode
      },
      subscribe: (topic, qos) => {
        this.said.push(`subscribe ${topic} ${qos}`)
        return this.grantsTopics
      },
      publish: ({ topic, payload, qos, retain, messageId = 0 }) => {
        if (topic !== `d/${client}/up` || retain) this.said.push(`published to ${topic}`)
        this.arrived.push({ text: payload.toString(), acknowledged: qos === 1 })
        if (!this.acknowledges) unacknowledged.push(messageId)
        return this.acknowledges
      },
      gone: (how) => this.gone.push(how),
    })
    this.say = (text) => wire.publish(`d/${client}/down`, Buffer.from(text))
    this.acknowledge = () => {
      for (const id of unacknowledged.splice(0)) wire.puback(id)
    }
    this.end = () => wire.destroy()
  }
}
