/** A pending call; `cancel` is idempotent. */
export interface Timer {
  cancel(): void
}

/** Time as an agent sees it. Injected, so that tests move it by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls `run` once after `ms`. */
  after(ms: number, run: () => void): Timer
}

/** Longer delays overflow Node's 32-bit timers and would fire at once. */
const longestDelayMs = 2 ** 31 - 1

/** The host's own clock. */
export const systemClock: Clock = {
  now: Date.now,
  after(ms, run) {
    const handle = setTimeout(run, Math.min(Math.max(0, ms), longestDelayMs))
    return { cancel: () => clearTimeout(handle) }
  },
}

/** A number in [0, 1), as `Math.random`. */
export type Random = () => number

/** Resolves after `ms` of `clock`, or at once when `signal` aborts. */
export const pause = (clock: Clock, ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const done = () => {
      timer.cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(ms, done)
    signal?.addEventListener('abort', done, { once: true })
  })
