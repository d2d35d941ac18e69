import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { Database } from './postgres.ts'
import type { Line } from './line.ts'

/** The server is asked for a sign of life this often; the answer costs it nothing. */
const askEveryMs = 500
/** One that has not answered by then is asked again. */
const answerWithinMs = 1_000
const lookEveryMs = 250
/** So many looks with nothing heard from it at all, and it is away: callers are to be told so within two seconds. */
const quietLooks = 6

export interface PulseDeps {
  line: Line
  /** one connection that is made even while the line is away */
  probe: Database
  /** told of each change */
  changed?: (away: boolean) => void
}

/**
 * Knows whether the database is there. A statement that takes its time, on whichever connection, is no sign that it is not: it is away
 * when nothing was heard on any, though something was asked. While this process stands still itself nobody looks, and nothing is counted.
 */
export class Pulse {
  readonly #deps: PulseDeps
  readonly #looks: NodeJS.Timeout
  readonly #closing = new AbortController()
  readonly #asking: Promise<void>
  #heard = 0
  #quiet = 0

  constructor(deps: PulseDeps) {
    this.#deps = deps
    this.#looks = setInterval(() => this.#look(), lookEveryMs).unref()
    this.#asking = this.#ask()
  }

  /** Idempotent. */
  async close(): Promise<void> {
    clearInterval(this.#looks)
    this.#closing.abort()
    await this.#asking
  }

  #look(): void {
    const { line } = this.#deps
    const heard = line.heard()
    this.#quiet = heard === this.#heard ? this.#quiet + 1 : 0
    this.#heard = heard
    if (this.#quiet < quietLooks) return
    // While it stays away each attempt to reach it is cut, so that the next is not made behind it.
    this.#quiet = 0
    this.#turn(true)
    line.cut()
  }

  #turn(away: boolean): void {
    const { line, changed } = this.#deps
    if (line.away === away) return
    line.away = away
    changed?.(away)
  }

  async #ask(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      // An answer counts whenever it comes: it is of a connection that was made since the line was cut. Were it thrown away for
      // coming late, a process that is slow because everybody asks it again and again would never find its database back.
      const answered = this.#answered().then((is) => is && this.#turn(false))
      await Promise.race([answered, sleep(answerWithinMs, undefined, { ref: false })])
      await sleep(askEveryMs, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  /** Whether it let itself be asked: one that refuses is there, but for one that starts or ends. */
  async #answered(): Promise<boolean> {
    try {
      await this.#deps.probe`select 1`
      return true
    } catch (error) {
      return error instanceof postgres.PostgresError && !error.code.startsWith('57P')
    }
  }
}
