import { type CloseReason, encodeBody, protocol } from '@svc/proto'
import type { Doorway } from '../link.ts'
import { Broker } from './broker.ts'
import { connack } from './connack.ts'
import { readConnect } from './connect.ts'
import { type MqttHost, MqttLink } from './mqtt-link.ts'
import type { Entrance, Pipe } from './pipe.ts'
import { Stranger } from './stranger.ts'

export interface MqttOptions {
  /** a connection must have said who it is by then */
  helloWithinMs: number
  /** connections at a time that have not */
  maxStrangers: number
  maxBacklogBytes: number
  maxUnacknowledged: number
}

/** The CONNECT is the Hello, and says nothing of versions: it is taken for an agent that speaks ours. */
const hello = encodeBody({ hello: { protocolMin: protocol.min, protocolMax: protocol.max } })

/** Where MQTT connections come in, over whatever carries them, and become the same links as all others. */
export class MqttDoor implements Entrance {
  readonly #options: MqttOptions
  readonly #strangers = new Set<Stranger>()
  readonly #links = new Set<MqttLink>()
  #doorway: Doorway | undefined
  readonly #broker = new Broker((error) => this.#doorway?.failed(error))
  readonly #host: MqttHost

  constructor(options: MqttOptions) {
    this.#options = options
    this.#host = {
      maxBacklogBytes: options.maxBacklogBytes,
      maxUnacknowledged: options.maxUnacknowledged,
      board: (wire) => this.#broker.take(wire),
      guarded: (link, run) => this.#guarded(link, run),
      left: (link) => void this.#links.delete(link),
    }
  }

  /** Takes connections from now on; for all who let them in here. */
  async start(doorway: Doorway): Promise<void> {
    await this.#broker.start()
    this.#doorway = doorway
  }

  /** Whether a connection may come in, or the HTTP status to turn it away with; it is counted by whoever does that. */
  open(): true | 503 {
    if (this.#strangers.size >= this.#options.maxStrangers) return 503
    return this.#doorway?.open() ?? 503
  }

  /** Takes a connection in. @param bornAt when it came, where that was not just now, by `performance.now()` */
  take(pipe: Pipe, address: string, bornAt: number = performance.now()): void {
    const stranger = new Stranger(pipe, address, {
      withinMs: Math.max(1, bornAt + this.#options.helloWithinMs - performance.now()),
      introduced: (from, connect, early) => this.#introduced(from, connect, early),
      ended: (ended, reason) => {
        this.#strangers.delete(stranger)
        this.#turnAway(ended, reason)
      },
    })
    this.#strangers.add(stranger)
    pipe.receiver = stranger
  }

  /** Somebody left, or was sent away, before a session could be made of it. */
  strayed(reason: CloseReason, address?: string): void {
    this.#doorway?.strayed(reason, address)
  }

  /** Ends everybody. Idempotent. */
  close(): void {
    for (const stranger of this.#strangers) stranger.end('DRAINING')
    for (const link of this.#links) link.fail('DRAINING')
    this.#broker.close()
  }

  #introduced(stranger: Stranger, connect: Buffer, early: Buffer): void {
    const { pipe, address } = stranger
    this.#strangers.delete(stranger)
    const said = readConnect(connect)
    if ('reason' in said) return this.#turnAway(stranger, said.reason, said.answer)
    const doorway = this.#doorway
    if (!doorway || this.open() !== true)
      return this.#turnAway(stranger, 'UNAVAILABLE', connack('UNAVAILABLE'))
    const link = new MqttLink(this.#host, pipe, connect, { deviceId: said.deviceId, address })
    this.#links.add(link)
    pipe.receiver = link
    if (early.length > 0) link.arrived(early)
    this.#guarded(link, () => {
      const handlers = doorway.accept(link, { ...said, address, via: 'mqtt' })
      link.handlers = handlers
      handlers.frame(hello)
    })
  }

  #turnAway({ pipe, address }: Stranger, reason: CloseReason, answer?: Uint8Array): void {
    pipe.receiver = undefined
    if (answer) pipe.write(answer, () => {})
    pipe.end(reason)
    this.strayed(reason, address)
  }

  #guarded(link: MqttLink, run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#doorway?.failed(error)
      link.fail('INTERNAL_ERROR')
    }
  }
}
