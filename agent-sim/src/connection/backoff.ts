import type { Random } from '../clock.ts'

/** First window of a reconnect and the largest one, in milliseconds. */
export const backoff = { baseMs: 1_000, capMs: 120_000 } as const

/** A connection that lived this long was a good one: the next failure starts from the first window again. */
export const healthyAfterMs = 60_000

/**
 * How long to wait before reconnect number `attempt` (from 0): uniform(0, min(cap, base·2^attempt)).
 * The jitter is drawn after the cap; drawn before it, a whole fleet would come to retry on the same beat.
 */
export const fullJitter = (random: Random, attempt: number): number =>
  random() * Math.min(backoff.capMs, backoff.baseMs * 2 ** Math.min(attempt, 30))
