import type { Clock } from '../../src/adapters/clock.ts'

/** Runs with the real one, ahead by what tests told it. */
export class TestClock implements Clock {
  #aheadMs = 0

  now(): Date {
    return new Date(Date.now() + this.#aheadMs)
  }

  advance(ms: number): void {
    this.#aheadMs += ms
  }
}
