import type { Random } from '../clock.ts'

/**
 * What to try next: each once in random order, then all again, and never one twice in a row where there are others. Drawn anew each
 * time, an agent in bad luck would come back to a gateway that is gone while its waits grow.
 */
export function rounds<T>(all: readonly T[], random: Random): () => T | undefined {
  let round: T[] = []
  let last: T | undefined
  return () => {
    if (round.length === 0) round = shuffled(all, random)
    const [first] = round
    if (first !== undefined && first === last && round.length > 1) round.push(...round.splice(0, 1))
    last = round.shift()
    return last
  }
}

/** Fisher and Yates. */
function shuffled<T>(all: readonly T[], random: Random): T[] {
  const rest = [...all]
  return all.flatMap(() => rest.splice(Math.floor(random() * rest.length), 1))
}
