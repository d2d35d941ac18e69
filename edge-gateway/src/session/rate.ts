import type { Limits } from '../ops/limits.ts'

/** How many newcomers are looked at per second. Those beyond are told when to come back, spread out so that they fit. */
export class AdmissionRate {
  readonly #limits: Limits
  readonly #nowMs: () => number
  #tokens: number
  #at: number
  /** refused since the last time that everybody fitted */
  #waiting = 0

  constructor(limits: Limits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits
    this.#nowMs = nowMs
    this.#tokens = limits.helloBurst
    this.#at = nowMs()
  }

  take(): boolean {
    const { helloPerSecond, helloBurst } = this.#limits
    const now = this.#nowMs()
    this.#tokens = Math.min(helloBurst, this.#tokens + ((now - this.#at) / 1000) * helloPerSecond)
    this.#at = now
    if (this.#tokens >= helloBurst / 2) this.#waiting = 0
    if (this.#tokens < 1) {
      this.#waiting++
      return false
    }
    this.#tokens--
    return true
  }

  /** Milliseconds for one who was refused: uniform over a window wide enough for all who were. */
  retryAfterMs(): number {
    const { retryWindowMs, maxRetryWindowMs, helloPerSecond } = this.#limits
    const window = Math.min(maxRetryWindowMs, retryWindowMs + (this.#waiting / helloPerSecond) * 1000)
    return spread(window)
  }
}

/** Uniform over the window; never 0, which would mean *do not come back*. */
export const spread = (windowMs: number): number => 1 + Math.floor(Math.random() * windowMs)
