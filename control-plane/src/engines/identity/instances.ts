/** Which processes were connected as one device. Times are ms since 1970. */
export interface Instances {
  /** the one that connected last */
  present: string
  /** those before it, and when each was followed by another */
  earlier: Record<string, number>
  /** when one came back that another had followed */
  returns: number[]
}

/** What is looked at, and how often one may come back in that time before it is certain that there are two of them. */
export const copies = { withinMs: 600_000, maxReturns: 3 } as const

/** Beyond so many nobody is remembered: whoever starts anew again and again is one that crashes. */
const maxEarlier = 16

/**
 * A connection of another process than before. A process that has ended does not come back: one that connects again after another did
 * lives beside it, whatever its network does, wherever it is sent, and however often either of them is started anew.
 */
export function follow({ present, earlier, returns }: Instances, next: string, atMs: number): Instances {
  const since = atMs - copies.withinMs
  const known = Object.entries({ ...earlier, [present]: atMs })
    .filter(([name, at]) => name !== next && at > since)
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, maxEarlier)
  const isBack = (earlier[next] ?? 0) > since
  return {
    present: next,
    earlier: Object.fromEntries(known),
    returns: [...returns, ...(isBack ? [atMs] : [])].filter((at) => at > since),
  }
}

/** Whether two of them live. */
export const areTwo = ({ returns }: Instances): boolean => returns.length > copies.maxReturns
