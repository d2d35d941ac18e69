import { Histogram, type Percentiles } from '../fleet/histogram.ts'

/** Durations of the last so many turns. */
export class Recent {
  readonly #turns: Histogram[]

  constructor(turns: number) {
    this.#turns = Array.from({ length: turns }, () => new Histogram())
  }

  add(ms: number): void {
    this.#turns[0]?.add(ms)
  }

  /** Begins a turn; the oldest one is forgotten. */
  turn(): void {
    this.#turns.pop()
    this.#turns.unshift(new Histogram())
  }

  percentiles(): Percentiles {
    const all = new Histogram()
    for (const turn of this.#turns) all.merge(turn)
    return all.percentiles()
  }
}
