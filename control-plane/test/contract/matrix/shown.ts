import { foreignIn, type MarkName, withoutOwners } from '../world/marks.ts'
import type { Cell } from './expected.ts'
import { principals, type Principal } from './principals.ts'

const everything = ['own', 'sibling', 'first', 'foreign', 'second', 'gone'] as const

/** Whose names and ids may be in an answer, and in a refusal: what the caller sees anyway, and the partner itself for its own users. */
function shownTo({ row, caller, target }: Cell): readonly MarkName[] {
  const who = principals[caller]
  if (!who) return []
  if (row.whose === 'secret') return target === 'sibling' || target === 'foreign' ? [target] : ['own']
  if (row.needs === 'platform' && who.platform) return everything
  // What a link is for that was mailed to somebody: each of these was, in `own`.
  if (row.needs === 'anyone') return ['own']
  const partner = who.member === 'partner' ? [partnerOf(who)] : []
  const aboutThem = row.whose === 'partner' || row.needs === 'login'
  return [...who.sees, ...(who.whole || who.sees.length === 0 || aboutThem ? partner : [])]
}

const partnerOf = ({ sees }: Principal): MarkName => (sees.includes('foreign') ? 'second' : 'first')

/** A user of a partner says which of its organizations they see, to whoever sees that user. */
function withoutReach(text: string, partner: MarkName): string {
  const its: readonly MarkName[] = partner === 'first' ? ['own', 'sibling'] : ['foreign']
  return text.replaceAll(/"orgIds":\[[^\]]*\]/g, (ids) => (foreignIn(ids, its).length > 0 ? ids : ''))
}

/** The names and ids in an answer to a caller that are none of theirs. @param said what the request says itself */
export function shownBeyond(cell: Cell, text: string, said: string): string[] {
  const who = principals[cell.caller]
  if (!who?.member) return foreignIn(text, shownTo(cell), said)
  const partner = partnerOf(who)
  const rest = withoutOwners(text, partner)
  return foreignIn(who.member === 'partner' ? withoutReach(rest, partner) : rest, shownTo(cell), said)
}
