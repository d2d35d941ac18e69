import type { Counters } from '../ops/counters.ts'
import type { Claims } from './claims.ts'
import { FallbackClaims } from './fallback.ts'
import { MemoryClaims } from './memory.ts'
import { RedisClaims } from './redis.ts'

/** Claims in Redis, with this node's memory for as long as Redis is away; without Redis, memory alone. */
export function chooseClaims(redisUrl: string | undefined, counters: Counters): Claims {
  if (!redisUrl) return new MemoryClaims()
  return new FallbackClaims(new RedisClaims(redisUrl), new MemoryClaims(), () => counters.admittedLocally++)
}
