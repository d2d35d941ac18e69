import type { Figure, Peer, Round } from './contract.ts'
import { measured, ratioOf, type Spread } from './spread.ts'

/** What came of a figure. */
export interface Judged {
  figure: Figure
  value: Spread | undefined
  ratio: Spread | undefined
  /** by the medians; undefined where there is nothing to judge by */
  reached: boolean | undefined
}

/** Holds a figure against its target. A ratio whose peer did not run decides nothing: the rest of the target does. */
export function judge(figure: Figure, rounds: readonly Round[]): Judged {
  const { measure, side, peer, target } = figure
  const value = measured(rounds, measure, side)
  const ratio = peer === undefined ? undefined : ratioOf(rounds, measure, side, peer)
  const holds: boolean[] = []
  const demand = (
    bound: number | undefined,
    seen: Spread | undefined,
    within: (a: number, b: number) => boolean,
  ) => {
    if (bound !== undefined && seen) holds.push(within(seen.median, bound))
  }
  const [atMost, atLeast] = [(a: number, b: number) => a <= b, (a: number, b: number) => a >= b]
  demand(target.atMost, value, atMost)
  demand(target.atLeast, value, atLeast)
  demand(target.ratioAtMost, ratio, atMost)
  demand(target.ratioAtLeast, ratio, atLeast)
  return { figure, value, ratio, reached: holds.length > 0 ? holds.every(Boolean) : undefined }
}

/** Figures that a run should have brought and did not, in words: its own side was not seen, or a peer that was not skipped. */
export function missing(
  figures: readonly Figure[],
  rounds: readonly Round[],
  peers: readonly Peer[],
): string[] {
  const skipped = new Set(peers.filter((peer) => peer.skipped !== undefined).map(({ name }) => name))
  const isSkipped = (side: string) => skipped.has(side) || skipped.has(side.split(':')[0] ?? '')
  return figures.flatMap(({ id, measure, side, peer }) => {
    const wanted = [side, ...(peer === undefined ? [] : [peer])]
    return wanted
      .filter((name) => !isSkipped(name) && !measured(rounds, measure, name))
      .map((name) => `${id}: nothing was seen of ${name}, ${measure}`)
  })
}
