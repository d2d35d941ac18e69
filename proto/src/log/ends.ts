import type { OpenLog } from './open.ts'
import { giveUp } from './own.ts'

/** What a forced end says to whoever asks for the exit code. */
const forced = 1

/**
 * From now on a process that was told to end is gone after `ms`, whatever it still waits for: it says so in its log, and ends with
 * exit code 1. To be called when it is told; it keeps no process that comes to its end by itself.
 */
export function endWithin({ log }: Pick<OpenLog, 'log'>, ms: number): void {
  const late = () =>
    giveUp({ log }, new Error(`it was told to end, and has not within ${ms} ms: it is ended`), true, forced)
  setTimeout(late, ms).unref()
}
