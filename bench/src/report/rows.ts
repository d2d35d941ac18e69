import { unclaimable } from '../method/claim.ts'
import type { Figure, ResultFile } from '../method/contract.ts'
import { judge } from '../method/judge.ts'
import { figureMeasure, shown, shortUnit, wanted } from '../method/table.ts'
import type { Chosen } from './choose.ts'
import type { Target } from './targets.ts'

/** One line of the table: a figure that was measured, or a target that nothing measures. */
export interface Row {
  id: string
  figure: string
  seen: string
  ratio: string
  target: string
  verdict: 'met' | 'not met' | 'not judged' | 'not claimed' | 'not measured'
  limitedBy: string
  wouldReach: string
}

/** The rows of a target, in the order in which its benches declare them; one that says so where there is none. */
export function rowsOf(target: Target, chosen: readonly Chosen[]): Row[] {
  const rows = chosen.flatMap(({ run }) =>
    run
      ? run.result.figures.filter(({ id }) => id === target.id).map((figure) => rowOf(figure, run.result))
      : [],
  )
  if (rows.length > 0) return rows
  const { id, what, asked } = target
  return [
    {
      id,
      figure: what,
      seen: '',
      ratio: '',
      target: asked,
      verdict: 'not measured',
      limitedBy: '',
      wouldReach: '',
    },
  ]
}

/** A run misses its target, and nobody knows yet what would reach it. */
const notKnown = 'not looked into'

function rowOf(figure: Figure, result: ResultFile): Row {
  const measure = figureMeasure(figure, result)
  const { value, ratio, reached } = judge(figure, result.rounds)
  const skipped = result.peers.find(({ name }) => name === figure.peer)?.skipped
  const without = skipped === undefined ? `no ${figure.peer}` : `no ${figure.peer}: ${skipped}`
  const verdict =
    unclaimable(result).length > 0
      ? 'not claimed'
      : reached === undefined
        ? 'not judged'
        : reached
          ? 'met'
          : 'not met'
  return {
    id: figure.id,
    figure: figure.title,
    seen: value ? shown(value, measure.digits, shortUnit[measure.unit]) : 'not seen',
    ratio: ratio ? `${shown(ratio, 2, '×')} ${figure.peer}` : figure.peer === undefined ? '' : without,
    target: wanted(figure, measure),
    verdict,
    limitedBy: figure.limitedBy,
    wouldReach:
      Object.keys(figure.target).length === 0
        ? ''
        : verdict === 'met'
          ? 'reached'
          : (figure.wouldReach ?? notKnown),
  }
}
