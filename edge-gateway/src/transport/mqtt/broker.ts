import { type Duplex, Readable } from 'node:stream'
import { Aedes, type Client } from 'aedes'
import type { Wire } from './wire.ts'
import { downTopic } from './topics.ts'

/**
 * What is left of a broker where nothing is routed: it speaks the protocol with each connection, and neither passes anything on nor
 * keeps anything. Connections are handed to it when their devices have been admitted.
 */
export class Broker {
  readonly #aedes: Aedes

  constructor(failed: (error: unknown) => void) {
    this.#aedes = new Aedes({
      mq: new NoRoutes(),
      persistence: new NoStore(),
      // What a slow reader may cost, and for how long, is its session's to say.
      drainTimeout: longestTimer,
      authenticate: (client, userName, _password, done) => done(null, isOf(client, userName)),
      authorizeSubscribe: (client, wanted, done) => done(null, isOwn(client, wanted) ? wanted : null),
      authorizePublish: (client, packet, done) => {
        const link = linkOf(client)
        const wrong = link ? link.published(packet) : 'UNEXPECTED_FRAME'
        if (wrong) link?.fail(wrong)
        // The acknowledgement is ours to give, and later; the broker then has nothing left to do with it.
        packet.qos = 0
        // Not at once: with nothing to wait for it would read on in the middle of what it reads.
        queueMicrotask(() => done(wrong ? new Error(wrong) : null))
      },
      authorizeForward: () => null,
    })
    this.#aedes.on('clientReady', (client) => wireOf(client).ready())
    this.#aedes.on('subscribe', (granted, client) => {
      const link = linkOf(client)
      if (
        link &&
        granted.some(({ topic, qos }) => topic === downTopic(link.deviceId) && Number(qos) !== refused)
      )
        link.subscribed = true
    })
    this.#aedes.on('unsubscribe', (topics, client) => {
      const link = linkOf(client)
      if (link && topics.includes(downTopic(link.deviceId))) link.subscribed = false
    })
    // Its declarations do not know this event.
    const events: NodeJS.EventEmitter = this.#aedes
    events.on('error', failed)
  }

  /** To be called once, before {@link take}. */
  start(): Promise<void> {
    return this.#aedes.listen()
  }

  /** Speaks with the client at the other end of the wire. */
  take(wire: Wire): void {
    const stream: Duplex = wire
    this.#aedes.handle(stream)
  }

  close(): void {
    this.#aedes.close()
  }
}

/** The most that a timer can wait: 24 days. */
const longestTimer = 2 ** 31 - 1

/** Granted instead of a quality of service: MQTT 3.1.1 §3.9.3. */
const refused = 0x80

/** No client has another stream. */
const wireOf = ({ conn }: Client) => conn as Duplex as Wire

const linkOf = (client: Client | null) => client && wireOf(client).link

const isOf = (client: Client, userName: string | undefined) => {
  const deviceId = linkOf(client)?.deviceId
  return deviceId !== undefined && client.id === deviceId && userName === deviceId
}

const isOwn = (client: Client, { topic, qos }: { topic: string; qos: number }) => {
  const link = linkOf(client)
  return link !== null && topic === downTopic(link.deviceId) && qos <= 1
}

type Done = ((error?: Error) => void) | undefined

/** The broker's way to its subscribers, and to itself (`$SYS`): nothing takes it. */
class NoRoutes {
  current = 0
  concurrent = 0

  on(_topic: string, _listener: unknown, done: Done): this {
    done?.()
    return this
  }

  removeListener(_topic: string, _listener: unknown, done: Done): this {
    done?.()
    return this
  }

  emit(_message: unknown, done: Done): void {
    done?.()
  }

  close(done: Done): void {
    done?.()
  }
}

/** The broker's memory: subscriptions end with their connection, and of the rest nothing is granted. */
class NoStore {
  async setup(): Promise<void> {}
  async cleanSubscriptions(): Promise<void> {}
  async cleanIncoming(): Promise<void> {}
  async delWill(): Promise<void> {}

  outgoingStream(): Readable {
    return Readable.from([])
  }

  createRetainedStreamCombi(): Readable {
    return Readable.from([])
  }

  streamWill(): Readable {
    return Readable.from([])
  }
}
