import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { heartbeat, hello, kindOf, kinds } from './envelopes.ts'
import { isPong, type MeshAgent, MeshHandshake, ping } from './meshcentral.ts'
import * as mqtt from './mqtt.ts'
import { clientFrame, pong, readServerFrame, readUpgrade, upgradeRequest } from './websocket.ts'

/** `svc`: envelopes in WebSocket messages; `meshcentral`: its own messages in such; the others carry MQTT. */
export type Kind = 'svc' | 'meshcentral' | 'mqtt' | 'mqtt-ws'

/** As whom one connects; a token where the server asks for one. */
export interface Identity {
  deviceId: string
  token?: string | undefined
  /** of an agent of MeshCentral, and no other */
  mesh?: MeshAgent
}

/** Where one listens and speaks over MQTT. */
export interface Topics {
  /** a topic that all listen to, instead of each to its own */
  shared?: string | undefined
}

const helloFrame = clientFrame(hello)
const beatFrame = clientFrame(heartbeat)
const pingFrame = clientFrame(ping)
/** §3.1.2.10; longer than any bench, so that no ping falls into what is measured */
const keepaliveSeconds = 1_200

/** What became of it: told once each. */
export interface Listener {
  /** the session is complete: welcome, or subscribed */
  live: (connection: Connection) => void
  /** a message for this client, which is no answer to a heartbeat */
  delivered: (connection: Connection, envelope: Buffer) => void
  /** its heartbeat was answered */
  answered: (connection: Connection) => void
  /** it has ended, for that reason */
  ended: (connection: Connection, why: string) => void
}

/** One client's connection, which holds nothing beyond its socket and a few bytes. */
export class Connection {
  readonly socket: Socket
  readonly #identity: Identity
  readonly #kind: Kind
  readonly #topics: Topics
  readonly #listener: Listener
  #upgraded: boolean
  #rest: Buffer | undefined
  #packets: Buffer | undefined
  #beat: Buffer | undefined
  #mesh: MeshHandshake | undefined
  isLive = false
  /** by `performance.now()`: when the heartbeat under way should have gone */
  beatAt = 0

  constructor(socket: Socket, kind: Kind, identity: Identity, topics: Topics, listener: Listener) {
    this.socket = socket
    this.#kind = kind
    this.#identity = identity
    this.#topics = topics
    this.#listener = listener
    this.#upgraded = kind === 'mqtt'
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => this.#read(bytes))
    socket.on('error', (error) => this.#end(error.message))
    socket.on('close', () => this.#end('the server closed the connection'))
  }

  /** To be called once the socket, and its TLS, is open. */
  open(): void {
    const { token, deviceId } = this.#identity
    if (this.#kind === 'svc')
      this.socket.write(upgradeRequest({ path: '/agent', protocol: 'svc.agent.v1', bearer: token }))
    else if (this.#kind === 'meshcentral') this.socket.write(upgradeRequest({ path: '/agent.ashx' }))
    else if (this.#kind === 'mqtt-ws') this.socket.write(upgradeRequest({ path: '/mqtt', protocol: 'mqtt' }))
    else this.#connect(deviceId, token)
  }

  /** Sends a heartbeat. */
  beat(intendedAt: number): void {
    this.beatAt = intendedAt
    if (this.#kind === 'svc') this.socket.write(beatFrame)
    else if (this.#kind === 'meshcentral') this.socket.write(pingFrame)
    else
      this.socket.write(
        (this.#beat ??= this.#framed(mqtt.publish(`d/${this.#identity.deviceId}/up`, heartbeat))),
      )
  }

  /** Says an envelope, over its own protocol. */
  say(envelope: Uint8Array): void {
    this.socket.write(clientFrame(envelope))
  }

  /** Publishes, over MQTT. */
  publish(topic: string, payload: Uint8Array): void {
    this.socket.write(this.#framed(mqtt.publish(topic, payload)))
  }

  /** Ends at once, and where the system lets it leaves no port in TIME_WAIT. */
  drop(): void {
    this.socket.removeAllListeners('close')
    if (this.socket instanceof TLSSocket) this.socket.destroy()
    else this.socket.resetAndDestroy()
  }

  #connect(deviceId: string, token: string | undefined): void {
    const user = token === undefined ? undefined : { name: deviceId, password: token }
    this.socket.write(this.#framed(mqtt.connect({ clientId: deviceId, user, keepaliveSeconds })))
  }

  #framed(packet: Buffer): Buffer {
    return this.#kind === 'mqtt-ws' ? clientFrame(packet) : packet
  }

  #read(more: Buffer): void {
    const bytes = this.#rest ? Buffer.concat([this.#rest, more]) : more
    this.#rest = undefined
    const at = this.#upgraded ? 0 : this.#upgrade(bytes)
    if (at === undefined) this.#rest = Buffer.from(bytes)
    else if (this.#kind === 'mqtt') this.#readPackets(bytes)
    else this.#readFrames(bytes, at)
  }

  #upgrade(bytes: Buffer): number | undefined {
    const head = readUpgrade(bytes)
    if (!head) return undefined
    if (head.status !== 101) {
      this.#end(`the server answered with HTTP ${head.status}`)
      this.drop()
      return bytes.length
    }
    this.#upgraded = true
    if (this.#kind === 'svc') this.socket.write(helloFrame)
    else if (this.#kind === 'meshcentral') this.#greetMesh()
    else this.#connect(this.#identity.deviceId, this.#identity.token)
    return head.end
  }

  #readFrames(bytes: Buffer, from: number): void {
    let at = from
    for (let frame = readServerFrame(bytes, at); frame; frame = readServerFrame(bytes, at)) {
      at = frame.end
      if (frame.kind === 'ping') this.socket.write(pong(frame.payload))
      else if (frame.kind === 'close') this.#end(`the server closed: ${frame.payload.toString('utf8', 2)}`)
      else if (this.#kind === 'svc') this.#take(frame.payload)
      else if (this.#kind === 'meshcentral') this.#takeMesh(frame.payload)
      else this.#readPackets(frame.payload)
    }
    if (at < bytes.length) this.#rest = Buffer.from(bytes.subarray(at))
  }

  /** Packets may span messages, so what is left is kept apart from what is left of a frame. */
  #readPackets(more: Buffer): void {
    const bytes = this.#packets ? Buffer.concat([this.#packets, more]) : more
    this.#packets = undefined
    let at = 0
    for (let packet = mqtt.readPacket(bytes, at); packet; packet = mqtt.readPacket(bytes, at)) {
      at = packet.end
      this.#obey(packet)
    }
    if (at < bytes.length) this.#packets = Buffer.from(bytes.subarray(at))
  }

  #obey({ type, body }: mqtt.ServerPacket): void {
    if (type === mqtt.packetTypes.connack) {
      if (body[1] !== 0) return this.#end(`CONNACK with return code ${body[1]}`)
      const topic = this.#topics.shared ?? `d/${this.#identity.deviceId}/down`
      this.socket.write(this.#framed(mqtt.subscribe(topic)))
    } else if (type === mqtt.packetTypes.suback) {
      if (body[2] === 0x80) return this.#end('the subscription was refused')
      this.#live()
    } else if (type === mqtt.packetTypes.publish) this.#take(mqtt.payloadOf(body))
  }

  #take(envelope: Buffer): void {
    const kind = kindOf(envelope)
    if (kind === kinds.heartbeatAck) this.#listener.answered(this)
    else if (kind === kinds.refused) this.#end('refused')
    else if (kind !== kinds.welcome) this.#listener.delivered(this, envelope)
    else if (this.#kind === 'svc') this.#live()
  }

  #greetMesh(): void {
    const { mesh } = this.#identity
    if (!mesh) return this.#end('it has no key for MeshCentral')
    this.#mesh = new MeshHandshake(mesh)
    for (const message of this.#mesh.begin()) this.socket.write(clientFrame(message))
  }

  #takeMesh(message: Buffer): void {
    if (this.isLive) {
      if (isPong(message)) this.#listener.answered(this)
      return
    }
    const step = this.#mesh?.take(message)
    if (step?.leave !== undefined) {
      this.#end(step.leave)
      return this.drop()
    }
    for (const reply of step?.say ?? []) this.socket.write(clientFrame(reply))
    if (!step?.live) return
    this.#mesh = undefined
    this.#live()
  }

  #live(): void {
    this.isLive = true
    this.#listener.live(this)
  }

  #end(why: string): void {
    this.socket.removeAllListeners('close')
    this.isLive = false
    this.#listener.ended(this, why)
  }
}
