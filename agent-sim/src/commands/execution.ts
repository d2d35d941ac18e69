import { svc } from '@svc/proto'
import type { Done } from '../behaviours/behaviour.ts'
import type { Clock } from '../clock.ts'

/** Why a running command is ended from outside. */
export type EndedBy = 'cancel' | 'timeout' | 'stop'

/** Work that does not end within this after being told to is left behind: it must not hold up its lane (promise P5). */
const endWithinMs = 10_000

/** What the result says then. */
export const outcomes = {
  cancel: { outcome: svc.v1.Outcome.CANCELLED, error: 'cancelled' },
  timeout: { outcome: svc.v1.Outcome.TIMED_OUT, error: 'it took longer than it may' },
  stop: { outcome: svc.v1.Outcome.INTERRUPTED, error: 'the agent was stopped' },
} as const

export interface Executed {
  outcome: svc.v1.Outcome
  error: string
  done: Done
}

/** Runs `work` for at most `timeoutMs`. Never rejects: what goes wrong is an outcome. */
export async function execute(
  work: (signal: AbortSignal) => Promise<Done>,
  abort: AbortController,
  timeoutMs: number,
  clock: Clock,
): Promise<Executed> {
  const limit = clock.after(timeoutMs, () => abort.abort('timeout' satisfies EndedBy))
  const done = await Promise.race([settled(work, abort.signal), leftBehind(abort.signal, clock)])
  limit.cancel()
  if (abort.signal.aborted) return { ...outcomes[abort.signal.reason as EndedBy], done }
  return done.failed === undefined
    ? { outcome: svc.v1.Outcome.SUCCEEDED, error: '', done }
    : { outcome: svc.v1.Outcome.FAILED, error: done.failed, done }
}

async function settled(work: (signal: AbortSignal) => Promise<Done>, signal: AbortSignal): Promise<Done> {
  try {
    return await work(signal)
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) }
  }
}

const leftBehind = (signal: AbortSignal, clock: Clock): Promise<Done> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => clock.after(endWithinMs, () => resolve({})), { once: true })
  })
