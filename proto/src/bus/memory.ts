import { type Bus, type Consumer, type Entry, maxEntries, StreamFull, type Unsubscribe } from './bus.ts'
import { MemoryStream } from './memory-stream.ts'

type Handler = (payload: Uint8Array) => void

/** The bus of one process on one machine. Payloads are handed over as they are: nobody may change them afterwards. */
export class MemoryBus implements Bus {
  readonly #channels = new Map<string, Set<Handler>>()
  readonly #streams = new Map<string, MemoryStream>()
  #closed = false

  get up(): boolean {
    return true
  }

  async publish(channel: string, payload: Uint8Array): Promise<number> {
    if (this.#closed) return 0
    const handlers = [...(this.#channels.get(channel) ?? [])]
    // Later, as with any carrier: a publisher never runs inside its subscriber.
    for (const handler of handlers) setImmediate(handler, payload)
    return handlers.length
  }

  async subscribe(channel: string, handler: Handler): Promise<Unsubscribe> {
    const handlers = this.#channels.get(channel) ?? new Set()
    this.#channels.set(channel, handlers.add(handler))
    return () => {
      handlers.delete(handler)
      if (handlers.size === 0) this.#channels.delete(channel)
    }
  }

  async append(stream: string, payload: Uint8Array): Promise<void> {
    const target = this.#stream(stream)
    if (target.size >= maxEntries) throw new StreamFull(stream)
    target.append(payload)
  }

  consumer(stream: string, group: string, name: string): Consumer {
    return new MemoryConsumer(this.#stream(stream), group, name)
  }

  onState(handler: (up: boolean) => void): Unsubscribe {
    handler(true)
    return () => {}
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#channels.clear()
    for (const stream of this.#streams.values()) stream.wake()
  }

  #stream(name: string): MemoryStream {
    const stream = this.#streams.get(name) ?? new MemoryStream()
    this.#streams.set(name, stream)
    return stream
  }
}

class MemoryConsumer implements Consumer {
  readonly #stream: MemoryStream
  readonly #group: string
  readonly #name: string
  /** re-read own pending entries above this id first; undefined: only new ones */
  #backlog: number | undefined = 0
  #closed = false

  constructor(stream: MemoryStream, group: string, name: string) {
    this.#stream = stream
    this.#group = group
    this.#name = name
  }

  async claimAbandoned(): Promise<void> {
    this.#stream.claimAll(this.#group, this.#name)
    this.rewind()
  }

  rewind(): void {
    this.#backlog = 0
  }

  async read({ count, blockMs }: { count: number; blockMs: number }): Promise<Entry[]> {
    if (this.#backlog !== undefined) {
      const own = this.#stream.pendingOf(this.#group, this.#name, this.#backlog, count)
      this.#backlog = own.length > 0 ? Number(own.at(-1)?.id) : undefined
      if (own.length > 0) return own
    }
    const fresh = this.#stream.deliver(this.#group, this.#name, count)
    if (fresh.length > 0 || blockMs <= 0 || this.#closed) return fresh
    await this.#stream.arrival(blockMs)
    return this.#closed ? [] : this.#stream.deliver(this.#group, this.#name, count)
  }

  async ack(ids: readonly string[]): Promise<void> {
    this.#stream.ack(this.#group, ids)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stream.wake()
  }
}
