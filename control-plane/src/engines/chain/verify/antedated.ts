import type { Entry } from './entries.ts'
import type { RowShape } from './row-shape.ts'

/** A sealed row that says it is much older than one before it: somebody may have made it up, or a clock was behind. */
export interface Antedated {
  partner: string
  seq: number
  rowId: string
  /** how much older, in seconds */
  bySeconds: number
}

/** Clocks of hosts, and what a transaction takes from its beginning to its commit, are apart by less. */
const tolerance = 600
const mostKept = 20

/**
 * Rows are sealed as they come, so their times go up along a chain, as far as clocks agree. No finding: whoever put a clock right made
 * some, too.
 */
export class Antedates {
  readonly kept: Antedated[] = []
  count = 0
  readonly #shape: RowShape
  #partner: string | undefined
  #newest = Number.NEGATIVE_INFINITY

  constructor(shape: RowShape) {
    this.#shape = shape
  }

  /** Take them in the order of their chains. */
  take({ partner, seq, auditId, row }: Entry): void {
    if (!row) return
    const at = Number(this.#shape.valueOf(row, 'at')) / 1e6
    if (this.#partner !== partner) this.#newest = Number.NEGATIVE_INFINITY
    this.#partner = partner
    // What has no end is a finding already.
    if (!Number.isFinite(at)) return
    const bySeconds = this.#newest - at
    this.#newest = Math.max(this.#newest, at)
    if (bySeconds <= tolerance) return
    this.count += 1
    if (this.kept.length < mostKept) this.kept.push({ partner, seq, rowId: auditId, bySeconds })
  }
}
