import type { Redis, RedisOptions } from 'ioredis'
import { type Bus, BusDown, type Consumer, maxEntries, StreamFull, type Unsubscribe } from './bus.ts'
import { RedisConsumer } from './redis-consumer.ts'
import { answerWithinMs, connection } from './redis-connection.ts'
import { Subscriptions } from './subscriptions.ts'

/** Notices a hung server, which keeps its sockets open, as soon as a stopped one. */
const pingEveryMs = 1000

/** Checks the cap and appends in one step: unconsumed entries are all that is left, because acknowledging trims. */
const appendScript = `
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return false end
return redis.call('XADD', KEYS[1], '*', 'p', ARGV[2])`

interface Commands extends Redis {
  appendCapped(key: string, cap: number, payload: Uint8Array): Promise<string | null>
}

/** The bus over Redis ≥ 6.2: pub/sub for hints, streams with a consumer group for what must arrive. */
export class RedisBus implements Bus {
  readonly #url: string
  readonly #options: RedisOptions
  readonly #main: Commands
  readonly #subscriptions: Subscriptions
  readonly #watchers = new Set<(up: boolean) => void>()
  readonly #troubled = new Set<(error: Error) => void>()
  readonly #consumers = new Set<RedisConsumer>()
  readonly #ping: NodeJS.Timeout
  #up = false
  /** the last reason why it could not be used, as long as it cannot */
  #trouble: Error | undefined
  #closed = false

  constructor(url: string, options: RedisOptions = {}) {
    this.#url = url
    this.#options = options
    this.#main = connection(url, { commandTimeout: answerWithinMs, ...options }) as Commands
    this.#main.defineCommand('appendCapped', { numberOfKeys: 1, lua: appendScript })
    const listens = connection(url, options)
    this.#subscriptions = new Subscriptions(listens, () => this.#look(true))
    for (const each of [this.#main, listens]) each.on('error', (error: Error) => this.#tell(error))
    this.#main.on('ready', () => this.#look(true))
    this.#main.on('close', () => this.#look(false))
    this.#ping = setInterval(() => void this.#check(), pingEveryMs)
    this.#ping.unref()
  }

  get up(): boolean {
    return this.#up
  }

  async publish(channel: string, payload: Uint8Array): Promise<number> {
    if (!this.#up) return 0
    // A lost hint is allowed, a rejected publish would not be: whoever publishes has committed already.
    return this.#main.publish(channel, asBuffer(payload)).catch(() => 0)
  }

  subscribe(channel: string, handler: (payload: Uint8Array) => void): Promise<Unsubscribe> {
    return this.#subscriptions.add(channel, handler)
  }

  async append(stream: string, payload: Uint8Array): Promise<void> {
    if (!this.#up) throw new BusDown(stream)
    const id = await this.#main.appendCapped(stream, maxEntries, asBuffer(payload)).catch((error: Error) => {
      throw new BusDown(`${stream}: ${error.message}`)
    })
    if (!id) throw new StreamFull(stream)
  }

  consumer(stream: string, group: string, name: string): Consumer {
    const consumer = new RedisConsumer(connection(this.#url, this.#options), stream, group, name)
    this.#consumers.add(consumer)
    return consumer
  }

  onState(handler: (up: boolean) => void): Unsubscribe {
    this.#watchers.add(handler)
    handler(this.#up)
    return () => this.#watchers.delete(handler)
  }

  onTrouble(handler: (error: Error) => void): Unsubscribe {
    this.#troubled.add(handler)
    if (this.#trouble) handler(this.#trouble)
    return () => this.#troubled.delete(handler)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#ping)
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()))
    this.#subscriptions.close()
    this.#main.disconnect()
  }

  async #check(): Promise<void> {
    if (this.#main.status !== 'ready') return
    const answered = await this.#main.ping().then(
      () => true,
      () => false,
    )
    if (!this.#closed) this.#look(answered)
  }

  /** Tried again and again, it fails in the same way mostly: that is told once. */
  #tell(error: Error): void {
    if (this.#closed || error.message === this.#trouble?.message) return
    this.#trouble = error
    for (const handler of this.#troubled) handler(error)
  }

  /** Up is who answers and is heard: a bus that does not listen would miss what others say to it, and nobody says it twice. */
  #look(answers: boolean): void {
    const up = answers && this.#main.status === 'ready' && this.#subscriptions.listening
    if (up === this.#up) return
    this.#up = up
    if (up) this.#trouble = undefined
    for (const watcher of this.#watchers) watcher(up)
  }
}

const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
