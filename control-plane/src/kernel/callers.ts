import { names, type Bus } from '@svc/proto/bus'
import { svc } from '@svc/proto'
import type { Sql } from 'postgres'
import { z } from 'zod'
import { readerDb } from './db.ts'

/** What a membership lets its user do; permissions include those inherited from the role's parents. */
const Member = z.object({
  kind: z.enum(['partner', 'organization']),
  id: z.uuid(),
  partnerId: z.uuid(),
  roleId: z.uuid(),
  forceMfa: z.boolean(),
  orgAccess: z.enum(['all', 'selected', 'none']).optional(),
  orgIds: z.array(z.uuid()).optional(),
  siteIds: z.array(z.uuid()).optional(),
  deviceGroupIds: z.array(z.uuid()).optional(),
  permissions: z.array(z.string()),
})
export type Member = z.infer<typeof Member>

/** What function `svc.load_caller` answers. */
const Standing = z.object({
  email: z.string(),
  status: z.enum(['active', 'invited', 'disabled']),
  authEpoch: z.number(),
  platformAdmin: z.boolean(),
  hasTotp: z.boolean(),
  sessions: z.array(z.object({ id: z.uuid(), mfaAt: z.coerce.date().nullable() })),
  memberships: z.array(Member),
})

/** A user's standing as of `loadedAt` (ms since the epoch, local clock). */
export type Standing = z.infer<typeof Standing> & { loadedAt: number }

/** What every request needs to know of its user, from a cache that is at most two seconds old. */
export interface Callers {
  /** @param notBefore ms: an answer loaded before this will not do. Undefined: no such user. */
  find(userId: string, notBefore?: number): Promise<Standing | undefined>
  /** Call after the commit of whatever changed a user's standing; undefined means everybody's (a role changed). */
  changed(userId?: string): Promise<void>
}

/** Promise P7: five seconds; this is what it costs when the bus is away. */
export const maxAgeMs = 2_000
/** Kept for this long after their last use at most; a fleet of operators is small. */
const maxEntries = 10_000

interface Entry {
  standing: Promise<Standing | undefined>
  at: number
}

async function load(sql: Sql, userId: string): Promise<Standing | undefined> {
  const loadedAt = Date.now()
  const row = await readerDb(sql, { kind: 'nobody' }).one<{
    standing: unknown
  }>`select svc.load_caller(${userId}::uuid) as standing`
  return row?.standing ? { ...Standing.parse(row.standing), loadedAt } : undefined
}

/** One flight per user, whatever number of requests waits for it. */
class CallerCache implements Callers {
  readonly #entries = new Map<string, Entry>()
  readonly #sql: Sql
  readonly #bus: Bus

  constructor(sql: Sql, bus: Bus) {
    this.#sql = sql
    this.#bus = bus
  }

  find(userId: string, notBefore = 0): Promise<Standing | undefined> {
    const entry = this.#entries.get(userId)
    if (entry && entry.at >= Math.max(notBefore, Date.now() - maxAgeMs)) return entry.standing
    const fresh: Entry = { standing: load(this.#sql, userId), at: Date.now() }
    this.#remember(userId, fresh)
    // A failure is not remembered: whoever asks next tries again.
    fresh.standing.catch(() => this.#forget(userId, fresh))
    return fresh.standing
  }

  #remember(userId: string, entry: Entry) {
    this.#entries.delete(userId) // re-inserted, so that the first key is the one loaded longest ago
    this.#entries.set(userId, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest)
  }

  #forget(userId: string, entry: Entry) {
    if (this.#entries.get(userId) === entry) this.#entries.delete(userId)
  }

  drop(userId: string | undefined) {
    if (userId) this.#entries.delete(userId)
    else this.#entries.clear()
  }

  async changed(userId?: string) {
    this.drop(userId)
    const what = userId ? { changedUsers: [userId] } : { allUsersChanged: true }
    const message = svc.v1.Hint.encode(what).finish()
    await this.#bus.publish(names.apiAll(), message)
  }
}

/** Nobody knows whom a hint that cannot be read was about: so everybody. */
function readHint(payload: Uint8Array): Pick<svc.v1.IHint, 'allUsersChanged'> & { changedUsers: string[] } {
  try {
    return svc.v1.Hint.decode(payload)
  } catch {
    return { changedUsers: [], allUsersChanged: true }
  }
}

/** @param sql of svc_app */
export async function openCallers(sql: Sql, bus: Bus): Promise<Callers & { close(): void }> {
  const cache = new CallerCache(sql, bus)
  const unsubscribe = await bus.subscribe(names.apiAll(), (payload) => {
    const { changedUsers, allUsersChanged } = readHint(payload)
    if (allUsersChanged) cache.drop(undefined)
    for (const userId of changedUsers) cache.drop(userId)
  })
  return {
    find: (userId, notBefore) => cache.find(userId, notBefore),
    changed: (userId) => cache.changed(userId),
    close: unsubscribe,
  }
}
