import { unclaimable } from './claim.ts'
import type { Figure, Measure, ResultFile, Unit } from './contract.ts'
import { judge } from './judge.ts'
import { measured, type Spread } from './spread.ts'

/** Behind a number. */
export const shortUnit: Record<Unit, string> = {
  'CPU-µs': ' µs',
  bytes: ' B',
  ms: ' ms',
  'per second': '/s',
  seconds: ' s',
  '%': ' %',
  count: '',
}

const number = (value: number, digits: number) =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })

/** `1,480 B (1,470–1,502)`; one round has no range. */
export function shown({ median, min, max, count }: Spread, digits: number, unit: string): string {
  const range = count > 1 ? ` (${number(min, digits)}–${number(max, digits)})` : ''
  return `${number(median, digits)}${unit}${range}`
}

function columns(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** What a figure's target asks, in its own unit and beside its peer. */
export const wanted = ({ target, peer }: Figure, { digits, unit }: Measure): string =>
  [
    target.atMost === undefined ? [] : `≤ ${number(target.atMost, digits)}${shortUnit[unit]}`,
    target.atLeast === undefined ? [] : `≥ ${number(target.atLeast, digits)}${shortUnit[unit]}`,
    target.ratioAtMost === undefined ? [] : `≤ ${target.ratioAtMost}× ${peer}`,
    target.ratioAtLeast === undefined ? [] : `≥ ${target.ratioAtLeast}× ${peer}`,
  ]
    .flat()
    .join(', ')

function verdict(reached: boolean | undefined, claimed: boolean): string {
  if (reached === undefined) return 'not judged'
  if (!claimed) return 'not claimed'
  return reached ? 'reached' : 'MISSED'
}

/** The measure that a figure is made of. */
export function figureMeasure(
  { id, measure: wanted }: Figure,
  { measures }: Pick<ResultFile, 'measures'>,
): Measure {
  const measure = measures.find(({ name }) => name === wanted)
  if (!measure) throw new Error(`${id}: there is no measure ${wanted}`)
  return measure
}

function figureRow(figure: Figure, result: ResultFile): string[] {
  const measure = figureMeasure(figure, result)
  const { value, ratio, reached } = judge(figure, result.rounds)
  return [
    figure.id,
    figure.title,
    value ? shown(value, measure.digits, shortUnit[measure.unit]) : 'not seen',
    ratio ? `${shown(ratio, 2, '×')} ${figure.peer}` : figure.peer ? `no ${figure.peer}` : '',
    wanted(figure, measure),
    verdict(reached, unclaimable(result).length === 0),
  ]
}

/** All that a run saw, for people: sides by measures, then figures with their targets, then whoever did not run, and why nothing is claimed. */
export function tableOf(result: ResultFile): string {
  const { measures, rounds, figures, peers } = result
  const why = unclaimable(result)
  const sides = [...new Set(rounds.map(({ side }) => side))]
  const heads = ['', ...measures.map(({ name, unit }) => `${name} [${unit}]`)]
  const body = sides.map((side) => [
    side,
    ...measures.map(({ name, digits }) => {
      const spread = measured(rounds, name, side)
      return spread ? shown(spread, digits, '') : '–'
    }),
  ])
  const skipped = peers.filter((peer) => peer.skipped !== undefined)
  return [
    columns([heads, ...body]),
    columns(figures.map((figure) => figureRow(figure, result))),
    skipped.map(({ name, skipped }) => `skipped: ${name}: ${skipped}`).join('\n'),
    why.length > 0 ? `Nothing is claimed from this run:\n${why.map((line) => `  ${line}`).join('\n')}` : '',
  ]
    .filter(Boolean)
    .join('\n\n')
}
