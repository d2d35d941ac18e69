import { principals, type Principal } from './principals.ts'
import type { MatrixRow } from './rows.ts'

/** Where the thing is that a request names: `world/things.ts`. `-`: it names none. */
export type Target = 'own' | 'sibling' | 'foreign' | 'deleted' | 'absent' | '-'

/** What one caller gets for one operation on one target: a status, or `seen`, `unseen`. */
export interface Cell {
  row: MatrixRow
  caller: string
  target: Target
  expected: string
}

const naming = ['own', 'sibling', 'foreign', 'deleted', 'absent'] as const

const isTop = ({ answer, operation }: MatrixRow) => answer === 'list' && !operation.includes(':')

/** A list names nothing: what is not there cannot be missing in it. */
export function targetsOf(row: MatrixRow): readonly Target[] {
  if (row.whose === '-' || row.whose === 'partner') return ['-']
  return isTop(row) ? naming.filter((target) => target !== 'absent') : naming
}

/** All cells of a line. */
export const cellsOf = (row: MatrixRow): Cell[] =>
  targetsOf(row).flatMap((target) =>
    Object.entries(principals).map(([caller, who]) => {
      const exception = row.but.get(`${caller}@${target}`) ?? row.but.get(caller)
      const expected = exception ?? refusal(row, who) ?? outcome(row, who, target)
      return { row, caller, target, expected }
    }),
  )

/** Before anything is looked up: no credential, no right, no second factor, in this order. */
function refusal({ needs, key, rules }: MatrixRow, who: Principal): string | undefined {
  if (needs === 'anyone') return undefined
  if (who.brings === 'nothing' || who.brings === 'dead') return '401'
  if (who.brings === 'far') return '403'
  if (who.brings === 'key' && key === 'no') return '403'
  if (!permits(needs, who)) return '403'
  if (rules.has('all') && who.member === 'partner' && !who.whole) return '403'
  if (who.factor === 'unenrolled' && !rules.has('exempt')) return '428'
  if (rules.has('fresh') && who.factor) return '403'
  return undefined
}

function permits(needs: string, { member, holds, platform }: Principal): boolean {
  if (needs === 'login') return true
  if (needs === 'platform') return platform === true
  if (!member) return false
  switch (holds) {
    case 'everything':
    case 'row':
      return true
    case 'reads':
      return needs.endsWith(':read')
    case 'a little':
      return ['devices:read', 'organizations:read', 'sites:read'].includes(needs)
    case 'all but row':
    case 'nothing':
      return false
  }
}

/** What is foreign is as what is absent; what was deleted is met by those who reached it. */
function outcome(row: MatrixRow, who: Principal, target: Target): string {
  const answer = row.answer === 'list' ? 'seen' : row.answer
  if (row.whose === '-') return answer
  if (row.whose === 'partner') return who.member === 'partner' ? answer : '404'
  const missing = row.whose === 'secret' ? '401' : isTop(row) ? 'unseen' : '404'
  if (target === 'absent' || !reaches(row, who, target)) return missing
  return target === 'deleted' ? row.deleted : answer
}

function reaches({ whose }: MatrixRow, { sees, whole }: Principal, target: Target): boolean {
  if (whose === 'secret' || whose === 'platform') return true
  if (whose === 'whole' && !whole) return false
  const place = target === 'deleted' ? 'own' : target
  return sees.some((each) => each === place)
}
