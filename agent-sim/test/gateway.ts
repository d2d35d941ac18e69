import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  type CloseReason,
  closeCode,
  decodeEnvelope,
  deviceIdOf,
  encodeBody,
  makeDeviceToken,
  svc,
  upKinds,
  withSeq,
} from '@svc/proto'
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws'
import type { SigningKey } from '../src/commands/key-ring.ts'
import type { UpBody } from '../src/connection/link.ts'
import type { TransportKind } from '../src/transport/kinds.ts'
import { speakMqtt } from './mqtt-wire.ts'
import { type Order, signed, signingKeys } from './signer.ts'

/** One device on the test gateway, over all its connections. */
export class Peer {
  readonly deviceId: string
  readonly received: svc.v1.Envelope[] = []
  connects = 0
  /** how it came last */
  via: TransportKind | undefined
  #send: (frame: Uint8Array) => void = () => {}
  #seq = 0

  constructor(deviceId: string) {
    this.deviceId = deviceId
  }

  attach(via: TransportKind, send: (frame: Uint8Array) => void): void {
    this.via = via
    this.#send = send
    this.connects += 1
    this.#seq = 0
  }

  say(body: UpBody): void {
    this.#seq += 1
    this.#send(withSeq(this.#seq, encodeBody(body)))
  }

  /** Sends a signed command; answers its id. */
  command(order: Partial<Order>): string {
    const { commandId, command } = signed({ deviceId: this.deviceId, ...order })
    this.say({ command })
    return commandId
  }

  script(content: string, interpreter = 'sh'): string {
    return this.command({ args: { interpreter, content } })
  }

  of<K extends NonNullable<svc.v1.Envelope['body']>>(kind: K): NonNullable<svc.v1.Envelope[K]>[] {
    return this.received.flatMap((envelope) => {
      const body = envelope[kind]
      return body ? [body as NonNullable<svc.v1.Envelope[K]>] : []
    })
  }

  results(commandId: string) {
    return this.of('commandResult').filter((result) => result.commandId === commandId)
  }
}

/** The smallest server that speaks the protocol, over every transport: enrolls everybody, admits everybody, acks inventory and results. */
export class TestGateway {
  readonly peers = new Map<string, Peer>()
  readonly enrollments: Record<string, unknown>[] = []
  heartbeatIntervalMs = 200
  ackResults = true
  /** what enrollment tells of keys that sign releases */
  releaseKeys: SigningKey[] = []
  /** whether newcomers are welcomed; they get no answer otherwise */
  welcomes = true
  /** whether enrollment tells of MQTT */
  speaksMqtt = true
  /** Answers an enrollment instead; undefined: enroll. */
  enrollAnswer: () => { status: number; body: unknown } | undefined = () => undefined
  /** Devices that were decommissioned. */
  readonly unwanted = new Set<string>()
  /** Refuses newcomers with this. */
  refusal: svc.v1.Refused.$Properties | undefined
  readonly #http = createServer((request, response) => void this.#answer(request, response))
  readonly #sockets = new WebSocketServer({ server: this.#http, perMessageDeflate: false })
  readonly #tcp = createTcpServer((socket) => this.#mqtt(socket, 'mqtt'))
  readonly #streams = new Set<Duplex>()

  static async open(): Promise<TestGateway> {
    const gateway = new TestGateway()
    gateway.#http.listen(0, '127.0.0.1')
    gateway.#tcp.listen(0, '127.0.0.1')
    await Promise.all([once(gateway.#http, 'listening'), once(gateway.#tcp, 'listening')])
    gateway.#sockets.on('connection', (socket, request) => gateway.#accept(socket, request))
    return gateway
  }

  get #port(): number {
    return (this.#http.address() as AddressInfo).port
  }

  get #mqttUrls(): string[] {
    const { port } = this.#tcp.address() as AddressInfo
    return [`mqtt://127.0.0.1:${port}`, `ws://127.0.0.1:${this.#port}/mqtt`]
  }

  get api(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** The only device, where there is one. */
  get peer(): Peer {
    const [peer] = this.peers.values()
    if (!peer) throw new Error('nobody has connected')
    return peer
  }

  closeAll(reason: CloseReason): void {
    for (const socket of this.#sockets.clients) socket.close(closeCode(reason))
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#sockets.close()
    for (const stream of this.#streams) stream.destroy()
    this.#http.closeAllConnections()
    this.#http.close()
    this.#tcp.close()
    await Promise.all([once(this.#http, 'close'), once(this.#tcp, 'close')])
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    this.enrollments.push(JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>)
    const { status, body } = this.enrollAnswer() ?? { status: 201, body: this.#enrolled() }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  #enrolled() {
    const deviceId = randomUUID()
    return {
      deviceId,
      deviceToken: makeDeviceToken(deviceId),
      gatewayUrls: {
        websocket: [`ws://127.0.0.1:${this.#port}/agent`],
        ...(this.speaksMqtt && { mqtt: this.#mqttUrls }),
      },
      commandSigningKeys: signingKeys,
      releaseKeys: this.releaseKeys,
      config: { heartbeatIntervalSeconds: 60 },
    }
  }

  #accept(socket: WebSocket, { url, headers }: IncomingMessage): void {
    if (url === '/mqtt') return this.#mqtt(createWebSocketStream(socket), 'mqtt-ws')
    const deviceId = deviceIdOf(headers.authorization?.replace('Bearer ', '') ?? '')
    if (!deviceId || socket.protocol !== 'svc.agent.v1') return socket.close(closeCode('CREDENTIAL_INVALID'))
    const peer = this.#peerOf(deviceId)
    peer.attach('websocket', (frame) => socket.send(frame))
    socket.on('message', (data: Buffer) => this.#frame(peer, decodeEnvelope(data)))
  }

  #peerOf(deviceId: string): Peer {
    const peer = this.peers.get(deviceId) ?? new Peer(deviceId)
    this.peers.set(deviceId, peer)
    return peer
  }

  #mqtt(stream: Duplex, via: TransportKind): void {
    let peer: Peer | undefined
    this.#streams.add(stream)
    const wire = speakMqtt(stream, {
      connect: ({ clientId, username, password }) => {
        if (deviceIdOf(password) !== clientId || username !== clientId) return 4
        peer = this.#peerOf(clientId)
        peer.attach(via, (frame) => wire.publish(`d/${clientId}/down`, frame))
        return 0
      },
      subscribe: (topic) => topic === `d/${peer?.deviceId}/down`,
      publish: ({ topic, payload }) => {
        if (peer && topic === `d/${peer.deviceId}/up`) this.#frame(peer, decodeEnvelope(Buffer.from(payload)))
        return true
      },
      gone: () => this.#streams.delete(stream),
    })
  }

  #frame(peer: Peer, envelope: svc.v1.Envelope): void {
    peer.received.push(envelope)
    const { heartbeatIntervalMs } = this
    const decommissioned = { reason: svc.v1.CloseReason.DECOMMISSIONED, text: 'decommissioned' }
    const refused = this.unwanted.has(peer.deviceId) ? decommissioned : this.refusal
    if (envelope.hello && refused) peer.say({ refused })
    else if (envelope.hello && this.welcomes)
      peer.say({
        welcome: {
          epoch: peer.connects,
          heartbeatIntervalMs,
          serverTimeMs: Date.now(),
          upKinds: Object.values(upKinds),
        },
      })
    if (envelope.heartbeat)
      peer.say({ heartbeatAck: { serverTimeMs: Date.now(), nextIntervalMs: heartbeatIntervalMs } })
    if (envelope.inventory)
      peer.say({ inventoryAck: { kind: kindOf(envelope.inventory), hash: envelope.inventory.hash ?? null } })
    if (envelope.commandResult && this.ackResults)
      peer.say({ resultAck: { commandId: envelope.commandResult.commandId ?? '' } })
  }
}

const kindOf = (inventory: svc.v1.Inventory.$Properties) =>
  (['hardware', 'os', 'disks', 'network', 'software'] as const).find((kind) => inventory[kind]) ?? ''
