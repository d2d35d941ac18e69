import type { Sql } from 'postgres'
import { z } from 'zod'
import type { Clock } from './clock.ts'

/** A clock of this host that runs a little fast or slow is of no consequence for so long. */
const lookEveryMs = 10_000
/** An answer that took longer may be wrong by half of that. */
const slowMs = 1_000
/** The host's clock differs by more from the database's: somebody should know. */
const tellBeyondMs = 5_000
const Told = z.object({ ms: z.number() })

export interface DatabaseClockOptions {
  /** the database did not say what time it is; the clock goes on from what it said before */
  failed: (error: unknown) => void
  /** by how much the host's own clock is off, in milliseconds, positive: ahead; with each look */
  looked?: (byMs: number) => void
  /** it is off by so much that somebody should know; 0: no more */
  skewed: (byMs: number) => void
}

/**
 * The time that all servers share: the database's, as it was at the last look, and since then by the clock that nobody sets. A host
 * clock that jumps, or is wrong from the start, ends no login and brings none back.
 */
export class DatabaseClock implements Clock {
  readonly #sql: Sql
  readonly #options: DatabaseClockOptions
  #saidMs = 0
  #at = 0
  #isSkewed = false
  #timer: NodeJS.Timeout | undefined

  private constructor(sql: Sql, options: DatabaseClockOptions) {
    this.#sql = sql
    this.#options = options
  }

  /** Rejects when the database does not say what time it is. */
  static async open(sql: Sql, options: DatabaseClockOptions): Promise<DatabaseClock> {
    const clock = new DatabaseClock(sql, options)
    await clock.#look()
    clock.#timer = setInterval(() => void clock.#look().catch(options.failed), lookEveryMs).unref()
    return clock
  }

  now(): Date {
    return new Date(this.#saidMs + performance.now() - this.#at)
  }

  /** Idempotent. */
  close(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    const sql = this.#sql
    const asked = performance.now()
    const rows = await sql`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`
    const answered = performance.now()
    // What was so long under way says less than is known.
    if (this.#at > 0 && answered - asked > slowMs) return
    this.#saidMs = Told.parse(rows[0]).ms
    // Somewhere on its way there and back.
    this.#at = (asked + answered) / 2
    const by = Math.round(Date.now() - this.now().getTime())
    this.#options.looked?.(by)
    const isSkewed = Math.abs(by) > tellBeyondMs
    if (isSkewed !== this.#isSkewed) this.#options.skewed(isSkewed ? by : 0)
    this.#isSkewed = isSkewed
  }
}
