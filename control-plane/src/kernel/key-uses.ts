import type { Sql } from 'postgres'
import type { KeyStanding } from './api-keys.ts'
import { inTransaction } from './db.ts'

/** A key is written at most this often by a process: requests never wait for its row. */
const everyMs = 60_000

interface Uses {
  id: string
  generation: number
  count: number
  at: Date
}

/** Counts uses of API keys in memory and writes them down together, in the background. */
export class KeyUses {
  readonly #sql: Sql
  readonly #failed: (error: unknown) => void
  readonly #timer: NodeJS.Timeout
  #pending = new Map<string, Uses>()
  #writing: Promise<void> = Promise.resolve()

  /** @param sql of svc_app. @param failed what could not be written is kept and tried again */
  constructor(sql: Sql, failed: (error: unknown) => void) {
    this.#sql = sql
    this.#failed = failed
    this.#timer = setInterval(() => void this.flush(), everyMs).unref()
  }

  add(key: Pick<KeyStanding, 'id' | 'generation'>, at: Date, count = 1): void {
    const name = `${key.id} ${key.generation}`
    const known = this.#pending.get(name)
    if (!known) this.#pending.set(name, { id: key.id, generation: key.generation, count, at })
    else {
      known.count += count
      if (at > known.at) known.at = at
    }
  }

  /** One batch at a time. Never rejects. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  /** Idempotent. Writes what is left, while there is still a database. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #write(): Promise<void> {
    const uses = [...this.#pending.values()]
    if (uses.length === 0) return
    this.#pending = new Map()
    try {
      await inTransaction(
        this.#sql,
        { kind: 'nobody' },
        (db) => db.one`select svc.note_api_key_uses(${JSON.stringify(uses)}::text::jsonb)`,
      )
    } catch (error) {
      for (const { count, at, ...key } of uses) this.add(key, at, count)
      this.#failed(error)
    }
  }
}
