import { names, type Bus } from '@svc/proto/bus'
import { svc } from '@svc/proto'
import type { Sql } from 'postgres'
import { z } from 'zod'
import { readerDb } from './db.ts'
import { FreshCache, type Remembering } from './fresh-cache.ts'

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

/** A user's standing as of `loadedAt` (ms since the epoch, by the time that servers share). */
export type Standing = z.infer<typeof Standing> & { loadedAt: number }

/** What every request needs to know of its user, from a cache that is at most two seconds old. */
export interface Callers {
  /** @param notBefore ms: an answer loaded before this will not do. Undefined: no such user. */
  find(userId: string, notBefore?: number): Promise<Standing | undefined>
  /** Call after the commit of whatever changed a user's standing; undefined means everybody's (a role changed). */
  changed(userId?: string): Promise<void>
}

async function load(sql: Sql, userId: string, now: () => number): Promise<Standing | undefined> {
  const loadedAt = now()
  const row = await readerDb(sql, { kind: 'nobody' }).one<{
    standing: unknown
  }>`select svc.load_caller(${userId}::uuid) as standing`
  return row?.standing ? { ...Standing.parse(row.standing), loadedAt } : undefined
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
export async function openCallers(
  sql: Sql,
  bus: Bus,
  remembering: Remembering = {},
): Promise<Callers & { close(): void }> {
  const { now = Date.now } = remembering
  const cache = new FreshCache<Standing>({ keepAbsent: true, ...remembering })
  const unsubscribe = await bus.subscribe(names.apiAll(), (payload) => {
    const { changedUsers, allUsersChanged } = readHint(payload)
    if (allUsersChanged) cache.drop(undefined)
    for (const userId of changedUsers) cache.drop(userId)
  })
  return {
    find: (userId, notBefore) => cache.find(userId, () => load(sql, userId, now), notBefore),
    changed: async (userId) => {
      cache.drop(userId)
      const what = userId ? { changedUsers: [userId] } : { allUsersChanged: true }
      await bus.publish(names.apiAll(), svc.v1.Hint.encode(what).finish())
    },
    close: unsubscribe,
  }
}
