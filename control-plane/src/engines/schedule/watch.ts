import { actOnDue, type DueDeps, untilDue } from './due.ts'
import { wakeChannel } from './wake.ts'

export interface WatchDeps extends DueDeps {
  log: DueDeps['log'] & { warn(details: object, message: string): void }
  /** the longest time between two looks, in milliseconds */
  everyMs: number
}

/** Pause after acting: what is still due then, another worker has in hand. */
const restMs = 100

/**
 * Acts upon moments when they come. Any number of workers watch, without a lease: whoever is first does it, and nothing waits for one
 * that died. A look at nothing is one short read. Being told of near moments only makes it sooner.
 */
export class DueWatch {
  readonly #deps: WatchDeps
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #again = false
  #closed = false

  constructor(deps: WatchDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#look()
    void this.#listen()
  }

  /** Idempotent. Waits for what is being acted upon. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#looking
  }

  async #listen(): Promise<void> {
    const { db, log } = this.#deps
    try {
      await db.sql.listen(wakeChannel, () => this.#look()) // on a connection of its own, which ends with the pool
    } catch (error) {
      if (!this.#closed)
        log.warn({ err: error }, 'near moments of schedules are found at the next look alone')
    }
  }

  #look(): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    if (this.#looking) this.#again = true
    else this.#looking = this.#act().then((ms) => this.#next(ms))
  }

  #next(ms: number): void {
    this.#looking = undefined
    if (this.#closed) return
    this.#timer = setTimeout(() => this.#look(), this.#again ? 0 : ms)
    this.#again = false
  }

  /** Returns when to look again, in milliseconds. */
  async #act(): Promise<number> {
    const { db, everyMs, log } = this.#deps
    try {
      const ms = await untilDue(db)
      if (ms === null || ms > 0) return Math.min(ms ?? everyMs, everyMs)
      await actOnDue(this.#deps)
      return Math.min(restMs, everyMs)
    } catch (error) {
      log.error({ err: error }, 'due schedules could not be looked for; trying again')
      return everyMs
    }
  }
}
