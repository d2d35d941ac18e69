import { type Bus, onReturn } from '@svc/proto/bus'
import type { WorkerDb } from '../../kernel/db.ts'
import { findOwedLately } from './claim.ts'
import { dispatch } from './hints.ts'

export interface GapDeps {
  /** of scope `system` */
  db: WorkerDb
  bus: Bus
  heartbeatIntervalMs: number
  log: { warn(details: object, message: string): void }
}

/** What has been owed for so many heartbeats or longer was offered with those. */
const owedForBeats = 2.5
/** Commands looked at at once. */
const owedAtOnce = 2_000

/**
 * While the bus is away hints are neither heard nor said. When it is back, workers are told anew of whatever has come to be owed and
 * nobody offers, as Postgres knows it. Returns how to end it, which waits for what is in hand.
 */
export function followGaps({ db, bus, heartbeatIntervalMs, log }: GapDeps): () => Promise<void> {
  let running = Promise.resolve()
  const reconcile = async () => {
    try {
      const owed = await findOwedLately(db, owedForBeats * heartbeatIntervalMs, owedAtOnce)
      await dispatch({ bus }, owed)
    } catch (error) {
      // The next heartbeats offer it.
      log.warn({ err: error }, 'what came to be owed while the bus was away was not looked for')
    }
  }
  const unwatch = onReturn(bus, () => {
    running = running.then(reconcile)
  })
  return () => {
    unwatch()
    return running
  }
}
