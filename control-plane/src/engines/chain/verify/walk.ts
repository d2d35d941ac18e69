import type { Entry } from './entries.ts'
import { explain, type Suspect } from './explain.ts'
import { type Finding, finding, systemChain } from './finding.ts'
import { beginning, link } from './link.ts'
import type { RowShape } from './row-shape.ts'

/** How far a chain was followed. */
export interface Tail {
  partner: string
  seq: number
  /** undefined: unknown */
  hash: Buffer | undefined
}

/** Seals per chain that do not fit and are compared with each other; what is more is told as it is. */
const mostSuspects = 32

/** Follows chains from seal to seal. `take` them in order, then `end`. */
export class Walk {
  readonly #shape: RowShape
  readonly #report: (found: Finding) => void
  #tail: Tail | undefined
  #suspects: Suspect[] = []
  rows = 0
  chains = 0

  /** @param from where another walk ended; what is in the chain before that is not looked at */
  constructor(shape: RowShape, report: (found: Finding) => void, from?: Tail) {
    this.#shape = shape
    this.#report = report
    this.#tail = from
  }

  take(entry: Entry): void {
    const { partner, seq, auditId, hash, row } = entry
    const tail = this.#enter(partner)
    const linked = seq === tail.seq + 1 ? tail.hash : undefined
    if (seq !== tail.seq + 1)
      this.#report(
        finding(
          'seals_removed',
          { partner, seq: tail.seq + 1, toSeq: seq - 1 },
          `${tail.seq + 1} to ${seq - 1}; what ${seq} followed is gone with them`,
        ),
      )
    if (!row) this.#report(finding('row_removed', { partner, seq, rowId: auditId }))
    else this.#check(entry, row, linked)
    tail.seq = seq
    tail.hash = hash
    this.rows += 1
  }

  #enter(partner: string): Tail {
    if (this.#tail?.partner === partner) return this.#tail
    this.end()
    this.chains += 1
    this.#tail = { partner, seq: 0, hash: beginning }
    return this.#tail
  }

  #check(
    { partner, seq, auditId, hash }: Entry,
    row: NonNullable<Entry['row']>,
    previous: Buffer | undefined,
  ) {
    const owner = this.#shape.valueOf(row, 'partner_id') ?? systemChain
    if (owner !== partner) this.#report(finding('row_foreign', { partner, seq, rowId: auditId }, owner))
    if (!previous) return
    const computed = link(partner, seq, previous, this.#shape.text(row))
    if (computed.equals(hash)) return
    const suspect = { partner, seq, auditId, stored: hash, previous, computed, row }
    if (this.#suspects.length < mostSuspects) this.#suspects.push(suspect)
    else this.#report(finding('row_changed', { partner, seq, rowId: auditId }))
  }

  /** Tells what is wrong with the chain in hand. @returns how far it goes */
  end(): Tail | undefined {
    for (const found of explain(this.#suspects, this.#shape)) this.#report(found)
    this.#suspects = []
    return this.#tail
  }
}
