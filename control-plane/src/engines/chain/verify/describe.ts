import type { Antedated } from './antedated.ts'
import { type Finding, systemChain } from './finding.ts'
import type { Loss } from './accept.ts'
import type { Untold } from './untold.ts'
import type { Verified } from './verify.ts'

const nameOf = (partner: string) => (partner === systemChain ? 'system' : partner)

const count = (n: number, what: string) => `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`

/** Chains that are named one by one. */
const mostUntold = 20

/** One line. */
export const describeFinding = ({ kind, partner, seq, toSeq, rowId, what }: Finding): string =>
  [
    kind,
    `partner ${nameOf(partner)}`,
    ...(seq === null ? [] : [`seq ${seq}${toSeq === undefined || toSeq === seq ? '' : `–${toSeq}`}`]),
    ...(rowId === undefined ? [] : [`row ${rowId}`]),
    what,
  ].join('  ')

const describeUntold = ({ partner, seq, toSeq }: Untold): string =>
  `partner ${nameOf(partner)}: none of these heads tells of seq ${seq} to ${toSeq}: are they the newest ones, and of every host? A chain made anew from there is not seen`

const describeAntedated = ({ partner, seq, rowId, bySeconds }: Antedated): string =>
  `partner ${nameOf(partner)}: seq ${seq}, row ${rowId}, says that it is ${Math.round(bySeconds / 60)} min older than one before it: a clock was put right, or somebody made it up`

/** Lines under one word, and how many there are beyond them. */
const noted = (word: string, texts: readonly string[], all: number, what: string): string[] =>
  [...texts, ...(all > texts.length ? [count(all - texts.length, `more ${what}`)] : [])].map(
    (text) => word.padEnd(12) + text,
  )

/** For people. */
export function describeVerified(verified: Verified): string {
  const { chains, rows, seconds, heads, signatures, accepted, untold, antedated, waiting, findings } =
    verified
  const { antedatedCount, findingCount } = verified
  const late = waiting.oldestSeconds > verified.windowSeconds
  return [
    `audit log   ${count(rows, 'sealed row')} in ${count(chains, 'chain')}, ${Math.round(rows / Math.max(seconds, 0.001)).toLocaleString('en')} a second`,
    heads === 0
      ? 'heads       none were given: a tail that was cut off, or a whole chain made anew, is not seen'
      : `heads       ${heads.toLocaleString('en')} compared, ${signatures ? 'signatures checked' : 'SIGNATURES NOT CHECKED: no keys were found'}`,
    ...accepted.map(
      ({ partner, seq, at }) =>
        `accepted    partner ${nameOf(partner)}: after a restore, that what was told beyond seq ${seq} is lost (${at})`,
    ),
    ...noted('untold', untold.slice(0, mostUntold).map(describeUntold), untold.length, 'chain'),
    ...noted('antedated', antedated.map(describeAntedated), antedatedCount, 'row'),
    `window      rows are sealed within ${verified.windowSeconds} s; what was done to one before is not seen`,
    `waiting     ${count(waiting.rows, 'row')}${waiting.rows === 0 ? '' : `, the oldest for ${waiting.oldestSeconds.toFixed(1)} s${late ? ': THE SEALER IS BEHIND, OR IS NOT RUNNING' : ''}`}`,
    ...findings.map(describeFinding),
    ...(findingCount > findings.length ? [`and ${count(findingCount - findings.length, 'more')}`] : []),
    findingCount === 0
      ? 'whole: nothing was edited, removed, inserted or put in another order'
      : `NOT WHOLE: ${count(findingCount, 'finding')}`,
  ].join('\n')
}

/** For people. */
export const describeLosses = (losses: readonly Loss[]): string =>
  losses.length === 0
    ? 'nothing is missing of what was told: there is nothing to accept'
    : losses
        .map(
          ({ partner, seq, told }) =>
            `partner ${nameOf(partner)}: goes on behind seq ${seq}; what was told up to ${told} is lost`,
        )
        .join('\n')
