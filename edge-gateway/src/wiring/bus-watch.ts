import { onReturn, type Unsubscribe } from '@svc/proto/bus'
import type { Exchange } from '../exchange.ts'
import type { Ground } from './ground.ts'
import type { Stage } from './stage.ts'

/** Follows the bus: says when it goes and comes, and has the exchange do its work meanwhile. */
export class BusWatch {
  readonly #ground: Ground
  readonly #ends: readonly (Unsubscribe | undefined)[]
  /** when it went away or came back, since agents are accepted */
  #changedAt = Number.NEGATIVE_INFINITY

  constructor(ground: Ground, stage: Readonly<Stage>, exchange: Exchange) {
    this.#ground = ground
    const { bus, counters, log, without } = ground
    const untrouble = bus.onTrouble?.((error) => log.warn({ err: error }, 'the bus cannot be used'))
    // Before the exchange below, which tells of it.
    const unreturn = onReturn(bus, () => {
      if (!without.has('gap_notice')) counters.busGaps++
    })
    let wasUp = bus.up
    const unwatch = bus.onState((up) => {
      // A bus that has not been up yet is not away, it is on its way.
      if (up || wasUp) log[up ? 'info' : 'warn'](up ? 'bus is up' : 'bus is away')
      wasUp ||= up
      if (!stage.accepting) return
      this.#changedAt = performance.now()
      // What this node is owed comes with the answer from now on; once it is back, also what it was offered and did not hear of.
      void exchange.poll()
    })
    this.#ends = [untrouble, unreturn, unwatch]
  }

  /** Others may notice its return later than this node does; until then they publish nothing. */
  get away(): boolean {
    const { bus, limits } = this.#ground
    return !bus.up || performance.now() - this.#changedAt < limits.busSettlesMs
  }

  stop(): void {
    for (const end of this.#ends) end?.()
  }
}
