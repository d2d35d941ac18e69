import type { ZxcvbnFactory } from '@zxcvbn-ts/core'

/** What is known of how a password would be guessed. */
export interface Strength {
  /** 0 to 4; from 3 on it resists guessing on our servers and off them */
  score: number
  /** what makes it weak, for whoever chooses; null: nothing stands out */
  hint: string | null
}

/** The time of an estimate grows with the square of the length, and no longer one becomes weaker by its end. */
const estimated = 64
/** Shorter words are part of too many others. */
const shortest = 3

/**
 * Estimates a password against offline lists: 50,000 common passwords, words, names, keyboard walks, dates (zxcvbn).
 *
 * @param known what a guesser knows of its owner: e-mail, name, tenant. None of it adds strength
 */
export async function strengthOf(password: string, known: readonly string[]): Promise<Strength> {
  const words = wordsIn(known)
  const own = without(password, words)
  const { score, feedback } = (await estimator()).check(own.slice(0, estimated), words)
  if (own !== password && score < 3) return { score, hint: 'It says what is known about you.' }
  return { score, hint: feedback.warning }
}

const wordsIn = (known: readonly string[]): string[] => {
  const parts = known.flatMap((text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u))
  // Longest first: of a name that holds another nothing is left over.
  return [...new Set(parts.filter((word) => word.length >= shortest))].toSorted((a, b) => b.length - a.length)
}

/** The estimator itself counts each known word as one more step, so that five of them look strong. */
function without(password: string, words: readonly string[]): string {
  const lower = password.toLowerCase()
  if (lower.length !== password.length) return password
  let kept = lower
  for (const word of words) kept = kept.replaceAll(word, '')
  return kept === lower ? password : kept
}

let made: Promise<ZxcvbnFactory> | undefined

/** Its lists take a quarter of a second and some 20 MiB: they are loaded when the first password is chosen. */
const estimator = (): Promise<ZxcvbnFactory> => (made ??= make())

async function make(): Promise<ZxcvbnFactory> {
  const { ZxcvbnFactory, adjacencyGraphs, common, english, translations } = await import('./zxcvbn.ts')
  return new ZxcvbnFactory({
    dictionary: { ...common, ...english },
    graphs: adjacencyGraphs,
    translations,
    // Each more is another pass over all lists.
    l33tMaxSubstitutions: 10,
  })
}
