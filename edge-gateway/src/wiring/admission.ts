import type { Claims } from '../claims/claims.ts'
import type { Exchange } from '../exchange.ts'
import type { Life } from '../life.ts'
import type { AdmitDeps } from '../session/admit.ts'
import type { Overtaken } from '../session/overtaken.ts'
import { AdmissionRate } from '../session/rate.ts'
import type { Ground } from './ground.ts'

interface AdmissionParts {
  claims: Claims
  life: Life
  exchange: Exchange
  overtaken: Overtaken
  nowMs: () => number
}

/** What letting a device in takes. @param nowMs the server's time */
export function admissionOf(
  { node, limits, counters, failed }: Ground,
  { claims, life, exchange, overtaken, nowMs }: AdmissionParts,
): AdmitDeps {
  return {
    node,
    counters,
    failed,
    claims,
    overtaken,
    rate: new AdmissionRate(limits),
    // The clock gives milliseconds; by chance below that, two nodes that cannot hear of each other do not admit one device at the
    // same epoch, of which neither would ever be refused.
    nowUs: () => nowMs() * 1000 + Math.floor(Math.random() * 1000),
    life: () => life.number,
    ask: (shown) => exchange.ask(shown),
  }
}
