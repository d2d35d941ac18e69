import { svc, tokenHash } from '@svc/proto'
import { names, type Bus } from '@svc/proto/bus'
import { LRUCache } from 'lru-cache'
import type { Sql } from 'postgres'
import { z } from 'zod'
import { requireRange } from './address-ranges.ts'
import { readerDb } from './db.ts'
import { FreshCache, type Remembering } from './fresh-cache.ts'
import type { Limits } from './limits.ts'

/** What function `svc.load_api_key` answers. */
const KeyStanding = z.object({
  id: z.uuid(),
  /** of its secret: a rotation makes the next */
  generation: z.int(),
  partnerId: z.uuid(),
  /** the one organization that it is for */
  orgId: z.uuid().nullable(),
  /** the organization of the membership that it was made under; null: that of the partner */
  memberOrg: z.uuid().nullable(),
  ownerId: z.uuid(),
  scopes: z.array(z.string()),
  /** requests per minute */
  rateLimit: z.int(),
  ipAllowlist: z.array(z.string().transform(requireRange)).nullable(),
  expiresAt: z.coerce.date(),
})
export type KeyStanding = z.output<typeof KeyStanding>

/** What every request with an API key needs to know of it, from a cache that is at most two seconds old. */
export interface ApiKeys {
  /**
   * Undefined: no such key, or none that works. Looking up one that was not good lately is counted against guessing.
   *
   * @param key whose checksum is right
   * @throws ApiError RATE_LIMITED
   */
  find(key: string, ip: string): Promise<KeyStanding | undefined>
  /** Call after the commit of whatever changed a key or its tenant. */
  changed(): Promise<void>
}

async function load(sql: Sql, hash: Buffer): Promise<KeyStanding | undefined> {
  const row = await readerDb(sql, { kind: 'nobody' }).one<{
    standing: unknown
  }>`select svc.load_api_key(${hash}) as standing`
  return row?.standing ? KeyStanding.parse(row.standing) : undefined
}

/** Keys that were good lately: looking one up again is no guess, whatever others do behind the same address. */
const mostKnown = 10_000

/** Looks keys up. A point is taken before and given back to who brought a real key: parallel guesses cannot slip past the count. */
function lookUpWith(sql: Sql, limits: Limits) {
  const known = new LRUCache<string, true>({ max: mostKnown })
  return async (name: string, hash: Buffer, ip: string): Promise<KeyStanding | undefined> => {
    const isGuess = !known.has(name)
    if (isGuess) await limits.hit('api-key-guess', { ip })
    const found = await load(sql, hash)
    if (!found) known.delete(name)
    else if (isGuess) {
      known.set(name, true)
      await limits.refund('api-key-guess', { ip })
    }
    return found
  }
}

/** A hint that cannot be read may have been about keys. */
function areChanged(payload: Uint8Array): boolean {
  try {
    return svc.v1.Hint.decode(payload).apiKeysChanged
  } catch {
    return true
  }
}

/** @param sql of svc_app */
export async function openApiKeys(
  sql: Sql,
  bus: Bus,
  limits: Limits,
  remembering: Remembering = {},
): Promise<ApiKeys & { close(): void }> {
  const cache = new FreshCache<KeyStanding>({ keepAbsent: false, ...remembering })
  const lookUp = lookUpWith(sql, limits)
  const unsubscribe = await bus.subscribe(names.apiAll(), (payload) => {
    if (areChanged(payload)) cache.drop(undefined)
  })
  return {
    find: (key, ip) => {
      const hash = tokenHash(key)
      const name = hash.toString('base64')
      return cache.find(name, () => lookUp(name, hash, ip))
    },
    changed: async () => {
      cache.drop(undefined)
      await bus.publish(names.apiAll(), svc.v1.Hint.encode({ apiKeysChanged: true }).finish())
    },
    close: unsubscribe,
  }
}
