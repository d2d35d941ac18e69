import { expect, test } from 'vitest'
import { randomFrom } from '../../test/proofs/random.ts'
import { autocorrelation } from '../../test/proofs/series.ts'
import { backoff } from './backoff.ts'
import { comeback } from './comeback.ts'

type Wait = (attempt: number) => number

const agents = 5_000
const outageMs = 30 * 60_000
/** By then each has reached the largest window. */
const settledMs = 10 * 60_000

/** When each of them tries again, by second, over an outage in which all lost their connections at once; no real time passes. */
function triesBySecond(wait: Wait): { during: number[]; back: number[] } {
  const during = Array.from({ length: outageMs / 1000 }, () => 0)
  const back = Array.from({ length: backoff.capMs / 1000 }, () => 0)
  for (let agent = 0; agent < agents; agent++) {
    let at = 0
    for (let attempt = 0; at < outageMs; attempt++) {
      at += wait(attempt)
      const [seconds, from] = at < outageMs ? [during, 0] : [back, outageMs]
      const second = Math.floor((at - from) / 1000)
      seconds[second] = (seconds[second] ?? 0) + 1
    }
  }
  return { during: during.slice(settledMs / 1000), back }
}

const beat = backoff.capMs / 1000
const random = randomFrom(7)
const ours: Wait = (attempt) => {
  const next = comeback({ reason: 'PEER_CLOSED' }, attempt, random)
  return next.stop ? Number.POSITIVE_INFINITY : next.inMs
}
/** The jitter before the cap. */
const capped: Wait = (attempt) => Math.min(backoff.capMs, random() * backoff.baseMs * 2 ** attempt)

test('after half an hour without a server 5,000 agents do not retry on one beat, and come back spread out', () => {
  const { during, back } = triesBySecond(ours)
  expect(autocorrelation(during, beat)).toBeLessThan(0.2)
  expect(back.reduce((sum, one) => sum + one, 0)).toBe(agents)
  expect(Math.max(...back)).toBeLessThan((3 * agents) / beat)
})

test('it is seen where the jitter is drawn before the cap: all are on one beat', () => {
  expect(autocorrelation(triesBySecond(capped).during, beat)).toBeGreaterThan(0.5)
})
