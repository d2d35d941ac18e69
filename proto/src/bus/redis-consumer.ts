import type { Redis } from 'ioredis'
import { BusDown, type Consumer, type Entry } from './bus.ts'
import { answerWithinMs } from './redis-connection.ts'

/**
 * Acknowledges, then trims below the oldest entry still pending; with none pending, up to and including the last acknowledged one:
 * everything before it was delivered. What was not delivered yet has a higher id and stays.
 */
const ackScript = `
redis.call('XACK', KEYS[1], unpack(ARGV))
local oldest = redis.call('XPENDING', KEYS[1], ARGV[1])[2]
if not oldest then
  local ms, seq = ARGV[#ARGV]:match('^(%d+)-(%d+)$')
  oldest = ms .. '-' .. string.format('%d', seq + 1)
end
redis.call('XTRIM', KEYS[1], 'MINID', oldest)
return 1`

interface Commands extends Redis {
  ackAndTrim(key: string, group: string, ...ids: string[]): Promise<number>
}

type Raw = [id: Buffer, fields: [name: Buffer, payload: Buffer] | null]

/** One consumer on a connection of its own: its reads block. */
export class RedisConsumer implements Consumer {
  readonly #redis: Commands
  readonly #stream: string
  readonly #group: string
  readonly #name: string
  /** re-read own pending entries above this id first; undefined: only new ones */
  #backlog: string | undefined = '0'
  #closed = false

  constructor(redis: Redis, stream: string, group: string, name: string) {
    this.#redis = redis as Commands
    this.#redis.defineCommand('ackAndTrim', { numberOfKeys: 1, lua: ackScript })
    this.#stream = stream
    this.#group = group
    this.#name = name
  }

  async claimAbandoned(): Promise<void> {
    await this.#answer(answerWithinMs, async () => {
      // The shard's owner is one at a time: whatever others hold is abandoned, however short a time ago they took it.
      for (let cursor = '0-0'; ; ) {
        const [next] = (await this.#withGroup(() =>
          this.#redis.xautoclaim(this.#stream, this.#group, this.#name, 0, cursor, 'COUNT', 500, 'JUSTID'),
        )) as [string]
        if (next === '0-0') break
        cursor = next
      }
    })
    this.rewind()
  }

  rewind(): void {
    this.#backlog = '0'
  }

  async read({ count, blockMs }: { count: number; blockMs: number }): Promise<Entry[]> {
    if (this.#closed) return []
    if (this.#backlog !== undefined) {
      const own = await this.#readGroup(this.#backlog, count, 0)
      this.#backlog = own.at(-1)?.id
      // An entry that was trimmed while pending has no fields; it comes back here for ever unless acknowledged.
      const gone = own.filter((entry) => entry.payload.length === 0).map((entry) => entry.id)
      if (gone.length > 0) await this.ack(gone)
      if (own.length > 0) return own.filter((entry) => entry.payload.length > 0)
    }
    return this.#readGroup('>', count, blockMs)
  }

  async ack(ids: readonly string[]): Promise<void> {
    if (ids.length === 0 || this.#closed) return
    await this.#answer(answerWithinMs, () =>
      this.#withGroup(() => this.#redis.ackAndTrim(this.#stream, this.#group, ...ids)),
    )
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#redis.disconnect()
  }

  async #readGroup(from: string, count: number, blockMs: number): Promise<Entry[]> {
    const answer = await this.#answer(blockMs + answerWithinMs, () =>
      this.#withGroup(() =>
        blockMs > 0
          ? this.#redis.xreadgroupBuffer(
              'GROUP',
              this.#group,
              this.#name,
              'COUNT',
              count,
              'BLOCK',
              blockMs,
              'STREAMS',
              this.#stream,
              from,
            )
          : this.#redis.xreadgroupBuffer(
              'GROUP',
              this.#group,
              this.#name,
              'COUNT',
              count,
              'STREAMS',
              this.#stream,
              from,
            ),
      ),
    )
    return entriesOf(answer)
  }

  /** A Redis that came back empty has no group: make it from the oldest entry on, never from `$`, and ask again. */
  async #withGroup<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      if (!String(error).includes('NOGROUP')) throw error
      await this.#redis.xgroup('CREATE', this.#stream, this.#group, '0', 'MKSTREAM').catch((raced: Error) => {
        if (!raced.message.includes('BUSYGROUP')) throw raced
      })
      return ask()
    }
  }

  /** One bounded question. A connection that is still being made is waited for within the same bound. */
  async #answer<T>(withinMs: number, ask: () => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new BusDown(`${this.#stream}: no answer in ${withinMs} ms`))
        this.#redis.disconnect(true)
      }, withinMs)
    })
    const waiting = ready(this.#redis)
    try {
      return await Promise.race([waiting.promise.then(ask), late])
    } catch (error) {
      if (this.#closed) return [] as T
      throw error instanceof BusDown ? error : new BusDown(`${this.#stream}: ${(error as Error).message}`)
    } finally {
      clearTimeout(timer)
      waiting.cancel()
    }
  }
}

/** Resolves when the connection can be asked. Cancelled, it never does: what nobody waits for any more is not asked later. */
function ready(redis: Redis): { promise: Promise<void>; cancel: () => void } {
  if (redis.status === 'ready') return { promise: Promise.resolve(), cancel: () => {} }
  let settle = () => {}
  const promise = new Promise<void>((resolve) => {
    settle = resolve
  })
  redis.once('ready', settle)
  return { promise, cancel: () => redis.off('ready', settle) }
}

/** The entries of the one stream that was asked for: `[[stream, entries]]`, or null when there are none. */
const entriesOf = (answer: unknown): Entry[] => {
  const raw = (answer as [Buffer, Raw[]][] | null)?.[0]?.[1] ?? []
  return raw.map(([id, fields]) => ({ id: id.toString(), payload: fields?.[1] ?? new Uint8Array() }))
}
