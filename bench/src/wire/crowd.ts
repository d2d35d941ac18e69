import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Latencies, openLoop } from '../method/latency.ts'
import { Connection, type Identity, type Kind, type Topics } from './connection.ts'

export interface CrowdOptions extends Topics {
  kind: Kind
  port: number
  tls?: boolean
  /** connections begun per second, and under way at a time: less than any server here turns away */
  perSecond: number
  underWay?: number
}

const host = '127.0.0.1'
const patienceMs = 60_000
const defaultUnderWay = 200

/** Clients of one server, each as lean as it can be. Whatever ends a connection that nobody dropped is kept, and makes the next call fail. */
export class Crowd {
  readonly #options: CrowdOptions
  readonly #connections = new Set<Connection>()
  readonly #ends = new Map<string, number>()
  #live = 0
  #answered = 0
  #delivered = 0
  #latencies = new Latencies()
  #onProgress: () => void = () => undefined

  constructor(options: CrowdOptions) {
    this.#options = options
  }

  /** Adds connections and resolves when the session of each is complete; rejects when one is refused or does not come to it. */
  async connect(identities: readonly Identity[]): Promise<void> {
    const { perSecond, underWay = defaultUnderWay } = this.#options
    const wanted = this.#connections.size + identities.length
    const begun = performance.now()
    for (let next = 0; next < identities.length; ) {
      const due = ((performance.now() - begun) / 1000) * perSecond + 1
      const room = underWay - (this.#connections.size - this.#live)
      for (let n = 0; n < room && next < due && next < identities.length; n++) this.#dial(identities[next++])
      this.#check()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await this.#until(
      () => this.#live === wanted,
      () => `${this.#live} of ${wanted} are connected`,
    )
  }

  /** Heartbeats in turn over all connections, at their times. `answered`: the server answers, and each answer is waited for and timed. */
  async beat({ perSecond, count, answered }: { perSecond: number; count: number; answered: boolean }) {
    const connections = [...this.#connections]
    this.#answered = 0
    this.#latencies = new Latencies()
    const begun = performance.now()
    await openLoop({
      perSecond,
      count,
      begin: (index, intendedAt) => connections[index % connections.length]?.beat(intendedAt),
    })
    if (answered)
      await this.#until(
        () => this.#answered >= count,
        () => `${this.#answered} of ${count} heartbeats are answered`,
      )
    this.#check()
    const seconds = (performance.now() - begun) / 1000
    return { seconds, latencies: answered ? this.#latencies.read() : {} }
  }

  /** Sends so many messages to a topic, over the first connection. */
  async publish({ topic, count, bytes }: { topic: string; count: number; bytes: number }): Promise<void> {
    const [first] = this.#connections
    const payload = Buffer.alloc(bytes, 'x')
    for (let n = 0; n < count; n++) first?.publish(topic, payload)
  }

  /** Counts deliveries from now on. */
  expect(): void {
    this.#delivered = 0
  }

  /** Resolves when so many messages have arrived. */
  async arrived(count: number): Promise<void> {
    await this.#until(
      () => this.#delivered >= count,
      () => `${this.#delivered} of ${count} messages have arrived`,
    )
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    for (const connection of this.#connections) connection.drop()
    this.#connections.clear()
    this.#live = 0
  }

  #dial(identity: Identity | undefined): void {
    if (!identity) return
    const { kind, port, tls = false, shared } = this.#options
    const socket: Socket = tls
      ? connectTls({ host, port, rejectUnauthorized: false, minVersion: 'TLSv1.3' })
      : connectTcp({ host, port })
    const connection = new Connection(
      socket,
      kind,
      identity,
      { shared },
      {
        live: () => {
          this.#live++
          this.#onProgress()
        },
        answered: ({ beatAt }) => {
          this.#answered++
          this.#latencies.saw(performance.now() - beatAt)
          this.#onProgress()
        },
        delivered: () => {
          this.#delivered++
          this.#onProgress()
        },
        ended: (ended, why) => this.#lost(ended, why),
      },
    )
    this.#connections.add(connection)
    socket.once(tls ? 'secureConnect' : 'connect', () => connection.open())
  }

  #lost(connection: Connection, why: string): void {
    if (!this.#connections.delete(connection)) return
    if (connection.isLive) this.#live--
    this.#ends.set(why, (this.#ends.get(why) ?? 0) + 1)
    this.#onProgress()
  }

  #check(): void {
    if (this.#ends.size === 0) return
    const told = [...this.#ends].map(([why, count]) => `${count} connections: ${why}`)
    throw new Error(told.join('; '))
  }

  async #until(holds: () => boolean, state: () => string): Promise<void> {
    const { promise, resolve, reject } = withResolvers()
    const late = setTimeout(() => reject(new Error(`after ${patienceMs / 1000} s ${state()}`)), patienceMs)
    this.#onProgress = () => {
      try {
        this.#check()
        if (holds()) resolve()
      } catch (error) {
        reject(error as Error)
      }
    }
    this.#onProgress()
    try {
      await promise
    } finally {
      clearTimeout(late)
      this.#onProgress = () => undefined
    }
  }
}

/** Promise.withResolvers, which Node 20 has not. */
function withResolvers() {
  let resolve: () => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<void>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
