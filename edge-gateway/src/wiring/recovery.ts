import type { Claims } from '../claims/claims.ts'
import { FallbackClaims } from '../claims/fallback.ts'
import { Recovery } from '../claims/recovery.ts'
import type { Ground } from './ground.ts'

/** Brings the shared claims back into use; undefined where there are none that could be away. */
export function recoveryOf(ground: Ground, claims: Claims): Recovery | undefined {
  const { node: self, bus, registry, without, failed } = ground
  if (!(claims instanceof FallbackClaims)) return undefined
  return new Recovery({
    bus,
    claims,
    held: () => registry.claimsOf(self),
    superseded: (lost) => registry.supersede(without.has('evictions') ? [] : lost),
    failed,
  })
}
