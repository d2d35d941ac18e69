import { type Finding, finding } from './finding.ts'
import { link } from './link.ts'
import type { RowShape, RowValues } from './row-shape.ts'

/** A seal that its row does not lead to. */
export interface Suspect {
  partner: string
  seq: number
  auditId: string
  /** as it stands */
  stored: Buffer
  /** of the seal before, as it stands */
  previous: Buffer
  /** what it would have to be */
  computed: Buffer
  row: RowValues
}

/**
 * Finds out what was done to seals of one chain that do not fit: whether a row stands at another place or under another id, and which
 * seals do not fit only because of the one before them. What nothing explains was changed.
 */
export function explain(suspects: readonly Suspect[], shape: RowShape): Finding[] {
  const texts = new Map(suspects.map((suspect) => [suspect, shape.text(suspect.row)]))
  /** What a seal may have followed: hashes as they stand about here, and as they would have to be. */
  const before = suspects.flatMap(({ previous, computed, stored }) => [previous, computed, stored])
  const fits = ({ partner, stored }: Suspect, seq: number, row: string, behind = before) =>
    behind.find((previous) => link(partner, seq, previous, row).equals(stored))
  const textOf = (suspect: Suspect) => texts.get(suspect) ?? ''

  /** Those whose own row is what was sealed there, behind another seal; then that one was changed. */
  const followers = new Map(
    suspects.flatMap((suspect) => {
      const previous = fits(suspect, suspect.seq, textOf(suspect))
      return previous ? [[suspect, previous] as const] : []
    }),
  )
  const changedSeals = new Set(
    [...followers.values()].flatMap((previous) => suspects.filter(({ computed }) => computed === previous)),
  )
  const wrong = suspects.filter((suspect) => !followers.has(suspect) || changedSeals.has(suspect))
  // Where each would be excused by another, none is.
  return (wrong.length > 0 ? wrong : suspects).map(tell)

  function tell(suspect: Suspect): Finding {
    const { partner, seq, auditId } = suspect
    const where = { partner, seq, rowId: auditId }
    if (changedSeals.has(suspect)) return finding('seal_changed', where)
    const place = suspects.find((other) => other !== suspect && fits(suspect, other.seq, textOf(suspect)))
    if (place) return finding('row_moved', where, `at ${place.seq}`)
    const sealed = suspects.find(
      (other) => other !== suspect && fits(suspect, seq, textOf(other), [suspect.previous]),
    )
    if (sealed) return finding('row_exchanged', where, `${sealed.auditId}, which stands at ${sealed.seq}`)
    const content = suspects.find(
      (other) =>
        other !== suspect &&
        fits(suspect, seq, shape.text(shape.with(other.row, 'id', auditId)), [suspect.previous]),
    )
    if (content) return finding('row_exchanged', where, `what it said, ${content.auditId} says now`)
    return finding('row_changed', where)
  }
}
