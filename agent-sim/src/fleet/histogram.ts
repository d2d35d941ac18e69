/** Each bucket is this much wider than the one before: the error of an answer in one direction. */
const growth = 1.05
const perBucket = Math.log(growth)

/** Milliseconds; zero when nothing was measured. */
export interface Percentiles {
  count: number
  p50: number
  p90: number
  p99: number
  max: number
}

/** Durations in logarithmic buckets: any number of them in a few hundred counters, to 5 %. */
export class Histogram {
  readonly #counts = new Map<number, number>()
  #count = 0
  #max = 0

  add(ms: number): void {
    const bucket = Math.ceil(Math.log(Math.max(ms, 0.01)) / perBucket)
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1)
    this.#count += 1
    this.#max = Math.max(this.#max, ms)
  }

  /** Takes in what another one counted. */
  merge(other: Histogram): void {
    for (const [bucket, count] of other.#counts)
      this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count)
    this.#count += other.#count
    this.#max = Math.max(this.#max, other.#max)
  }

  percentiles(): Percentiles {
    const sorted = [...this.#counts].toSorted(([a], [b]) => a - b)
    return {
      count: this.#count,
      p50: this.#at(sorted, 0.5),
      p90: this.#at(sorted, 0.9),
      p99: this.#at(sorted, 0.99),
      max: round(this.#max),
    }
  }

  #at(sorted: readonly (readonly [bucket: number, count: number])[], share: number): number {
    let left = Math.ceil(share * this.#count)
    for (const [bucket, count] of sorted) {
      left -= count
      if (left <= 0) return round(Math.min(this.#max, growth ** bucket))
    }
    return 0
  }
}

const round = (ms: number) => Math.round(ms * 10) / 10
