import { type CloseReason, closeReasons } from '@svc/proto'
import type { Random } from '../clock.ts'
import { fullJitter, healthyAfterMs } from './backoff.ts'

/** How a connection ended. Times in milliseconds. */
export interface Ending {
  reason: CloseReason
  /** since `Welcome`; absent when it never came to that */
  livedMs?: number
  /** the other side said not to come back sooner */
  retryAfterMs?: number
  /** what is left of the wait that a `Move` gave */
  moveInMs?: number
  /** the device has another credential to try */
  another?: true
}

/** What follows: the agent ends for good, or tries again after `inMs` as failure number `attempt`. */
export type Comeback = { stop: true } | { stop: false; inMs: number; attempt: number }

/**
 * One answer for every way a connection can end. `attempt` counts failures since the last healthy connection.
 * A retry-after moves the jitter window, it does not replace it: otherwise all that were refused together return together.
 */
export function comeback(ending: Ending, attempt: number, random: Random): Comeback {
  const after = closeReasons[ending.reason]
  if (after === 'stop' && !ending.another) return { stop: true }
  if (ending.moveInMs !== undefined) return { stop: false, inMs: ending.moveInMs, attempt: 0 }
  const failures = (ending.livedMs ?? 0) >= healthyAfterMs ? 0 : attempt
  return {
    stop: false,
    inMs: (ending.retryAfterMs ?? 0) + fullJitter(random, failures),
    attempt: failures + 1,
  }
}
