import type { svc } from '@svc/proto'
import type { Clock, Random, Timer } from '../clock.ts'

/** So many heartbeats without an answer: the other side is gone, whatever the socket says. */
const unansweredLimit = 3
/**
 * Each interval is drawn from this share of it around it, so that a fleet which came to beat together, whatever brought that about,
 * does not go on doing so: after a dozen beats nothing is left of it.
 */
const intervalSpread = 0.2

export interface HeartOptions {
  clock: Clock
  random: Random
  beat: () => Promise<svc.v1.Heartbeat.$Properties>
  send: (heartbeat: svc.v1.Heartbeat.$Properties) => void
  /** `ms`: how long the answer to the last heartbeat took. */
  answered: (ms: number) => void
  silent: () => void
  trouble: (text: string) => void
}

/** Heartbeats of one connection: the first after uniform(0, interval), so that a fleet which came together does not beat together. */
export class Heart {
  readonly #options: HeartOptions
  #timer: Timer | undefined
  #intervalMs = 60_000
  #unanswered = 0
  /** runs out when a beat out of turn is not answered in its time */
  #probe: Timer | undefined
  #sentAt = 0
  /** Counts starts and stops: a beat that was being measured when the connection went is not sent on the next one. */
  #run = 0

  constructor(options: HeartOptions) {
    this.#options = options
  }

  /** @param atOnce the first one waits for nobody */
  start(intervalMs: number, atOnce = false): void {
    this.stop()
    this.#unanswered = 0
    if (intervalMs > 0) this.#intervalMs = intervalMs
    this.#schedule(atOnce ? 0 : this.#options.random() * this.#intervalMs)
  }

  stop(): void {
    this.#run += 1
    this.#timer?.cancel()
    this.#timer = undefined
    this.#probe?.cancel()
    this.#probe = undefined
  }

  /** Asks, by a beat out of turn, whether the other side is still there; who does not answer within `ms` is silent. */
  probe(ms: number): void {
    if (!this.#timer) return
    this.#probe?.cancel()
    this.#probe = this.#options.clock.after(ms, () => this.#options.silent())
    void this.#beat(this.#run)
  }

  answered(nextIntervalMs: number): void {
    if (this.#unanswered > 0) this.#options.answered(this.#options.clock.now() - this.#sentAt)
    this.#unanswered = 0
    this.#probe?.cancel()
    this.#probe = undefined
    if (nextIntervalMs > 0) this.#retune(nextIntervalMs)
  }

  /** Another interval holds from the next beat on, at a new phase: a fleet that is retuned at once must not beat at once. */
  #retune(intervalMs: number): void {
    if (intervalMs === this.#intervalMs || !this.#timer) return
    this.#intervalMs = intervalMs
    this.#timer.cancel()
    this.#schedule(this.#options.random() * intervalMs)
  }

  #schedule(ms: number): void {
    const run = this.#run
    this.#timer = this.#options.clock.after(ms, () => {
      this.#schedule(this.#nextMs())
      void this.#beat(run)
    })
  }

  /** Until the beat after this one. */
  #nextMs(): number {
    return this.#intervalMs * (1 + intervalSpread * (2 * this.#options.random() - 1))
  }

  async #beat(run: number): Promise<void> {
    const { clock, beat, send, silent, trouble } = this.#options
    if (this.#unanswered >= unansweredLimit) return silent()
    try {
      const heartbeat = await beat()
      if (run !== this.#run) return
      this.#unanswered += 1
      this.#sentAt = clock.now()
      send(heartbeat)
    } catch (error) {
      trouble(`no heartbeat: ${String(error)}`)
    }
  }
}
