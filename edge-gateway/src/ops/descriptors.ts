import { readdirSync, readFileSync, statSync } from 'node:fs'
import type { Logger } from 'pino'
import type { Counters } from './counters.ts'
import type { Limits } from './limits.ts'

/** File descriptors of this process: what it may have open, and has. */
export interface Descriptors {
  limit: number
  used: number
}

/** To ask takes a descriptor: there is none any more. */
const exhausted = new Set(['EMFILE', 'ENFILE'])

/** As the system says; undefined where it does not (`/proc` is Linux), or sets no limit. Takes tens of microseconds. */
export function readDescriptors(): Descriptors | 'exhausted' | undefined {
  try {
    const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])
    // Linux 6.2 and newer say the count as the folder's size; before, it is what lies in it.
    const used = statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length
    return limit > 0 ? { limit, used } : undefined
  } catch (error) {
    return exhausted.has((error as NodeJS.ErrnoException).code ?? '') ? 'exhausted' : undefined
  }
}

export interface GuardDeps {
  limits: Limits
  counters: Counters
  log: Logger
  /** as counted by the gateway; asked on each connection */
  connections: () => number
  /** stops listening */
  pause: () => void
  /** Listens again. May reject, and is then tried again. */
  resume: () => Promise<void>
  read?: () => Descriptors | 'exhausted' | undefined
}

/**
 * Stops listening before descriptors run out, and listens again when enough are free: at its limit an engine cannot accept and
 * spins on what waits to be. Between two looks at the system each connection is counted upon what else was open at the last one.
 */
export class DescriptorGuard {
  readonly #deps: GuardDeps
  readonly #read: () => Descriptors | 'exhausted' | undefined
  #timer: NodeJS.Timeout | undefined
  #limit = Infinity
  /** open for anything but connections */
  #base = 0
  #paused = false
  #resuming = false

  constructor(deps: GuardDeps) {
    this.#deps = deps
    this.#read = deps.read ?? readDescriptors
  }

  /** Undefined where the system sets or tells no limit. */
  get state(): (Descriptors & { paused: boolean }) | undefined {
    if (this.#limit === Infinity) return undefined
    return { limit: this.#limit, used: this.#used, paused: this.#paused }
  }

  get #used(): number {
    return this.#base + this.#deps.connections()
  }

  start(): void {
    this.look()
    this.#timer = setInterval(() => this.look(), this.#deps.limits.descriptorsEveryMs)
    this.#timer.unref()
  }

  /** For good. */
  stop(): void {
    clearInterval(this.#timer)
    this.#limit = Infinity
  }

  /** One more connection is counted. */
  came(): void {
    const { limits, counters, log, pause } = this.#deps
    if (this.#paused || this.#used < this.#limit * limits.pauseAtShare) return
    this.#paused = true
    counters.descriptorPauses++
    log.warn({ used: this.#used, limit: this.#limit }, 'descriptors run out: not listening')
    pause()
  }

  /** Measures. */
  look(): void {
    const measured = this.#read()
    if (measured === 'exhausted') return this.#exhausted()
    this.#limit = measured?.limit ?? Infinity
    this.#base = Math.max(0, (measured?.used ?? 0) - this.#deps.connections())
    this.came()
    if (this.#paused && this.#used < this.#limit * this.#deps.limits.resumeBelowShare) void this.#resume()
  }

  /** What connects and says nothing yet comes faster than two looks follow each other. */
  #exhausted(): void {
    if (this.#limit === Infinity) this.#limit = this.#deps.connections() + 1
    this.#base = this.#limit - this.#deps.connections()
    this.came()
  }

  async #resume(): Promise<void> {
    if (this.#resuming) return
    this.#resuming = true
    const { log, resume } = this.#deps
    try {
      await resume()
      this.#paused = false
      log.info({ used: this.#used, limit: this.#limit }, 'descriptors are free again: listening')
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'cannot listen again yet')
    } finally {
      this.#resuming = false
    }
  }
}
