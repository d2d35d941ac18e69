import type { Sql } from 'postgres'
import { DatabaseAway, type Line } from '../adapters/line.ts'
import { type TurnLimits, Turns } from '../adapters/turns.ts'

/** All connections are in use, and were for as long as one may wait: this request may come again in a moment. */
export class PoolBusy extends Error {
  override name = 'PoolBusy'
}

interface Gate {
  turns: Turns
  line: Pick<Line, 'away'>
  /** ms of the process's own clock */
  refusedAt: number
}

/** Pools whose connections are waited for in turn; those of tests and of background work are not. */
const gates = new WeakMap<Sql, Gate>()

/**
 * From now on who wants a connection of this pool waits for a turn, in order, and no longer than that. Each statement has a connection to
 * itself then: the driver's own queue has no end, and behind one statement that waits for a lock it would put others on the same connection.
 */
export function giveTurns(pool: Sql, limits: TurnLimits, line: Pick<Line, 'away'>): void {
  const gate: Gate = {
    line,
    refusedAt: Number.NEGATIVE_INFINITY,
    turns: new Turns(limits, () => {
      gate.refusedAt = performance.now()
      return new PoolBusy('no connection to the database became free')
    }),
  }
  gates.set(pool, gate)
}

/** Does it when it is its turn. @throws PoolBusy, DatabaseAway; then nothing was begun */
export async function takeTurn<T>(pool: Sql, work: () => PromiseLike<T>): Promise<T> {
  const gate = gates.get(pool)
  if (!gate) return work()
  if (gate.line.away) throw new DatabaseAway()
  return gate.turns.run(async () => work())
}

/** Who was refused so lately shows that others will be. */
const jammedForMs = 10_000

/** Whether requests find no connection of this pool any more. */
export const isJammed = (pool: Sql): boolean => poolRefusals(pool).agoMs < jammedForMs

/** How many waited in vain so far, and how long ago the last did, in milliseconds. */
export function poolRefusals(pool: Sql): { refused: number; agoMs: number } {
  const gate = gates.get(pool)
  if (!gate) return { refused: 0, agoMs: Number.POSITIVE_INFINITY }
  return { refused: gate.turns.load().refused, agoMs: performance.now() - gate.refusedAt }
}
