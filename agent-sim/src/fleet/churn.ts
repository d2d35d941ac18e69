import { between, dice, pick } from '../behaviours/fleet/dice.ts'
import type { Random } from '../clock.ts'

/**
 * What befalls a device of a fleet:
 * - `leave`: it is shut down, says goodbye, and is switched on again
 * - `crash`: its power fails; it comes back with what its ledger holds
 * - `network`: its connection breaks without a word, and it has another network a moment later
 */
export const mishaps = ['leave', 'crash', 'network'] as const
export type Mishap = (typeof mishaps)[number]

export interface Blow {
  /** since the one before */
  afterMs: number
  /** the device, from 1 */
  number: number
  mishap: Mishap
  /** how long the device, or its network, is gone */
  awayMs: number
}

export interface ChurnRate {
  agents: number
  /** on average, per minute and 100 agents */
  perMinute: number
  seed: number
}

const awayMs = { leave: [2_000, 15_000], crash: [500, 10_000], network: [100, 3_000] } as const

/** Blow after blow, without end, the same for the same seed: their times are those of a Poisson process, as of devices that know nothing of each other. */
export function* churn({ agents, perMinute, seed }: ChurnRate): Generator<Blow, never> {
  const random = dice(seed)
  const meanMs = 60_000 / ((perMinute * agents) / 100)
  for (;;) yield blow(random, agents, meanMs)
}

function blow(random: Random, agents: number, meanMs: number): Blow {
  const mishap = pick(random, mishaps)
  const [least, most] = awayMs[mishap]
  return {
    afterMs: -Math.log(1 - random()) * meanMs,
    number: between(random, 1, agents),
    mishap,
    awayMs: between(random, least, most),
  }
}
