import type { Limits } from '../ops/limits.ts'
import type { Session } from './session.ts'

/**
 * One coarse timer for all connections: the hello and admission deadlines, and the silence after which a live device is cut.
 * Each connection stands in one slot; hearing from it moves nothing, the slot looks when it comes round.
 *
 * Time is counted in ticks that really ran. After a stall of the process nobody is cut for the silence that the stall made.
 */
export class Keepalive {
  readonly #limits: Limits
  readonly #slots = new Map<number, Session[]>()
  readonly #timer: NodeJS.Timeout
  now = 0

  constructor(limits: Limits) {
    this.#limits = limits
    this.#timer = setInterval(() => this.tick(), limits.tickMs)
    this.#timer.unref()
  }

  /** Looks at the session after `ms`, instead of whenever it would have. */
  watch(session: Session, ms: number): void {
    this.#place(session, this.now + Math.max(1, Math.ceil(ms / this.#limits.tickMs)))
  }

  tick(): void {
    this.now++
    const slot = this.#slots.get(this.now)
    if (!slot) return
    this.#slots.delete(this.now)
    for (const session of slot) if (session.due === this.now) this.#look(session)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#slots.clear()
  }

  #place(session: Session, tick: number): void {
    session.due = tick
    const slot = this.#slots.get(tick)
    if (slot) slot.push(session)
    else this.#slots.set(tick, [session])
  }

  #look(session: Session): void {
    switch (session.state.kind) {
      case 'opening':
        return session.close('ADMISSION_TIMEOUT')
      case 'admitting':
        return session.close('UNAVAILABLE')
      case 'live':
      case 'draining': {
        const silence = (session.heartbeatIntervalMs * this.#limits.silentIntervals) / this.#limits.tickMs
        const until = session.heard + Math.ceil(silence)
        if (until <= this.now) session.close('KEEPALIVE_TIMEOUT')
        else this.#place(session, until)
        return
      }
      case 'gone':
    }
  }
}
