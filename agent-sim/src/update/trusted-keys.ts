import { releaseKey } from '@svc/proto'
import type { KeyRing, SigningKey } from '../commands/key-ring.ts'

/** Keys that releases may be signed with, by the id that follows from each key itself. What is no key is trusted to nothing. */
export function trustedKeys(keys: readonly SigningKey[]): KeyRing {
  const good = keys.flatMap(({ publicKey }) => {
    try {
      return [releaseKey(publicKey)]
    } catch {
      return []
    }
  })
  return new Map(good.map(({ keyId, key }) => [keyId, key]))
}
