import type { Claims } from '../claims/claims.ts'
import type { Exchange } from '../exchange.ts'
import type { Life } from '../life.ts'
import type { AdmitDeps } from '../session/admit.ts'
import { AdmissionRate } from '../session/rate.ts'
import { evictFrom } from './evict.ts'
import type { Ground } from './ground.ts'

/** What letting a device in takes. @param nowMs the server's time */
export function admissionOf(
  { node, bus, limits, counters, failed }: Ground,
  { claims, life, exchange, nowMs }: { claims: Claims; life: Life; exchange: Exchange; nowMs: () => number },
): AdmitDeps {
  return {
    node,
    counters,
    failed,
    claims,
    rate: new AdmissionRate(limits),
    // The clock gives milliseconds; by chance below that, two nodes that cannot hear of each other do not admit one device at the
    // same epoch, of which neither would ever be refused.
    nowUs: () => nowMs() * 1000 + Math.floor(Math.random() * 1000),
    life: () => life.number,
    ask: (deviceId) => exchange.ask(deviceId),
    evict: (holder, deviceId, belowEpoch) => evictFrom(bus, holder.node, deviceId, belowEpoch),
  }
}
