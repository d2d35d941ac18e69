/** A clock that is right within this is left alone: the way an answer takes must not make it jitter. */
const toleranceMs = 1_000

/** Of the host, as it was when this process began, and since then by the clock that nobody sets: one that is put does not move it. Whole milliseconds. */
export const steadyHost = (): number => Math.floor(performance.timeOrigin + performance.now())

/**
 * The server's time, which is the database's: what devices judge expiry by, and the control plane silence. The host's own clock may
 * be wrong, or be put; each exchange says by how much. It lags by what the answer was under way, and is never ahead.
 */
export class ServerClock {
  readonly #host: () => number
  #skewMs = 0

  constructor(host: () => number = steadyHost) {
    this.#host = host
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#host() + this.#skewMs
  }

  /** @param serverTimeMs as it was when the answer was made that has just come; 0: not said */
  learn(serverTimeMs: number): void {
    if (serverTimeMs <= 0) return
    const skew = serverTimeMs - this.#host()
    this.#skewMs = Math.abs(skew) > toleranceMs ? skew : 0
  }
}
