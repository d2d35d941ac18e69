/** Several times the same: the middle, and how far apart. */
export interface Spread {
  median: number
  min: number
  max: number
  count: number
}

/** Throws when there is nothing: a median of nothing is no figure. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const [min, max] = [sorted[0], sorted.at(-1)]
  if (min === undefined || max === undefined) throw new RangeError('nothing was seen')
  const middle = sorted.length / 2
  const [low = min, high = max] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return { median: (low + high) / 2, min, max, count: sorted.length }
}

interface Seen {
  side: string
  round: number
  seen: Record<string, number>
}

/** One measure of one side, over all its rounds; undefined where it was never seen. */
export function measured(rounds: readonly Seen[], measure: string, side: string): Spread | undefined {
  const values = rounds.filter((round) => round.side === side).flatMap(({ seen }) => seen[measure] ?? [])
  return values.length > 0 ? spreadOf(values) : undefined
}

/**
 * One side divided by another, round by round: what both suffered goes out. Rounds that only one of them has, or in which the other
 * saw zero, are left out; undefined where none is left.
 */
export function ratioOf(
  rounds: readonly Seen[],
  measure: string,
  side: string,
  peer: string,
): Spread | undefined {
  const of = (name: string, { round }: Seen) =>
    rounds.find((other) => other.side === name && other.round === round)?.seen[measure]
  const ratios = rounds
    .filter((round) => round.side === side)
    .flatMap((round) => {
      const [ours, theirs] = [round.seen[measure], of(peer, round)]
      return ours === undefined || !theirs ? [] : [ours / theirs]
    })
  return ratios.length > 0 ? spreadOf(ratios) : undefined
}
