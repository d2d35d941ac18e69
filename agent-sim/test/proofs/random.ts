/** Numbers from 0 to 1 that are the same for the same seed: a linear congruence with a mixed output, good enough to pick by. */
export function randomFrom(seed: number): () => number {
  let state = BigInt(seed) + 0x9e3779b97f4a7c15n
  return () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffff_ffff_ffff_ffffn
    const mixed = (state ^ (state >> 29n)) * 0xbf58476d1ce4e5b9n
    return Number((mixed & 0xffff_ffff_ffff_ffffn) >> 11n) / 2 ** 53
  }
}

/** One of them; throws when there are none. */
export function pick<T>(all: readonly T[], random: () => number): T {
  const one = all[Math.floor(random() * all.length)]
  if (one === undefined) throw new Error('there is nothing to pick from')
  return one
}

/** So many different ones, or all. */
export function pickSome<T>(all: readonly T[], count: number, random: () => number): T[] {
  const rest = [...all]
  return Array.from({ length: Math.min(count, rest.length) }, () => {
    const at = Math.floor(random() * rest.length)
    return rest.splice(at, 1)
  }).flat()
}
