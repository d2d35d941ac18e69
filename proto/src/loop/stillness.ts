import { beatMs, blockedFromMs, blockedWithinMs, toldFromMs } from './counts.ts'

/** How long an event loop stood still, by the times at which a timer of {@link beatMs} really ran. Times are of a clock that is not set. */
export class Stillness {
  #beat: number
  #stood: { until: number; ms: number }[] = []

  constructor(now: number) {
    this.#beat = now
  }

  /** The timer ran. Answers how long the loop stood still before, if that is to be told. */
  beat(now: number): number | undefined {
    const ms = this.#late(now)
    this.#beat = now
    this.#stood = this.#stood.filter(({ until }) => until > now - blockedWithinMs)
    if (ms < toldFromMs) return undefined
    this.#stood.push({ until: now, ms })
    return ms
  }

  /** Whether it stood still for too much of the last seconds. What stands in its way right now counts: who asks may come before the timer. */
  blocked(now: number): boolean {
    const before = this.#stood.filter(({ until }) => until > now - blockedWithinMs)
    const standing = this.#late(now)
    const all = before.reduce((sum, { ms }) => sum + ms, standing < toldFromMs ? 0 : standing)
    return all >= blockedFromMs
  }

  #late(now: number): number {
    return Math.max(0, now - this.#beat - beatMs)
  }
}
