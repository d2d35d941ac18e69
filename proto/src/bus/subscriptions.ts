import type { Redis } from 'ioredis'
import type { Unsubscribe } from './bus.ts'

type Handler = (payload: Uint8Array) => void

/** A silent subscriber connection is tested this often: a hung one is dropped and made anew. */
const testEveryMs = 5000
const answerWithinMs = 2000

/** Channels of one subscriber connection; subscribed again by hand after each reconnect. */
export class Subscriptions {
  readonly #redis: Redis
  readonly #changed: () => void
  readonly #channels = new Map<string, Set<Handler>>()
  readonly #test: NodeJS.Timeout
  #listening = false

  /** @param changed called when {@link listening} has changed */
  constructor(redis: Redis, changed: () => void) {
    this.#redis = redis
    this.#changed = changed
    redis.on('ready', () => void this.#begin())
    redis.on('close', () => this.#set(false))
    redis.on('messageBuffer', (channel: Buffer, payload: Buffer) => {
      for (const handler of this.#channels.get(channel.toString()) ?? []) handler(payload)
    })
    this.#test = setInterval(() => void this.#alive(), testEveryMs)
    this.#test.unref()
  }

  /** Whether what is published now on any of the channels is heard. */
  get listening(): boolean {
    return this.#listening
  }

  async add(channel: string, handler: Handler): Promise<Unsubscribe> {
    const handlers = this.#channels.get(channel)
    if (handlers) handlers.add(handler)
    else {
      this.#channels.set(channel, new Set([handler]))
      await this.#subscribe([channel])
    }
    return () => this.#remove(channel, handler)
  }

  close(): void {
    clearInterval(this.#test)
    this.#channels.clear()
    this.#redis.disconnect()
  }

  #remove(channel: string, handler: Handler): void {
    const handlers = this.#channels.get(channel)
    if (!handlers?.delete(handler) || handlers.size > 0) return
    this.#channels.delete(channel)
    if (this.#redis.status === 'ready')
      this.#redis.unsubscribe(channel).catch(() => this.#redis.disconnect(true))
  }

  async #begin(): Promise<void> {
    await this.#subscribe([...this.#channels.keys()])
    this.#set(this.#redis.status === 'ready')
  }

  #set(listening: boolean): void {
    if (listening === this.#listening) return
    this.#listening = listening
    this.#changed()
  }

  async #subscribe(channels: string[]): Promise<void> {
    // Not ready: the 'ready' listener does it.
    if (channels.length === 0 || this.#redis.status !== 'ready') return
    await this.#redis.subscribe(...channels).catch(() => this.#redis.disconnect(true))
  }

  async #alive(): Promise<void> {
    if (this.#redis.status !== 'ready') return
    const timer = setTimeout(() => this.#redis.disconnect(true), answerWithinMs)
    await this.#redis.ping().catch(() => this.#redis.disconnect(true))
    clearTimeout(timer)
  }
}
