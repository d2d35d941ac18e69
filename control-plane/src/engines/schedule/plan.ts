import { v7 as uuid } from 'uuid'
import type { Db } from '../../kernel/tenancy.ts'
import { databaseNow } from './database-now.ts'
import { nextDue } from './occurrences.ts'
import type { Task } from './queue/task.ts'
import { Timing } from './timing.ts'
import { wakeAt } from './wake.ts'

/** What an entry is for: once per partner. Up to 255 characters; ids in it keep organizations apart. */
export interface EntryKey {
  partnerId: string
  key: string
}

export interface Plan<Payload> extends EntryKey {
  /** null: the partner's own */
  orgId: string | null
  task: Pick<Task<Payload>, 'name' | 'payload'>
  /** What the task is given, beside the `Occasion` that comes under `schedule`. At most 60 KiB. */
  payload: Payload
  timing: Timing
  /** Of moments that passed while nobody was there: one is made up for, or none. Default `once`. */
  misfire?: 'once' | 'skip'
  endsAt?: Date
  /** at least 1 */
  maxRuns?: number
}

interface Planned {
  id: string
  /** null: it will never happen */
  dueAt: Date | null
}

/**
 * Plans it, in the caller's transaction. What was planned under this key is replaced.
 *
 * @throws ZodError for a timing that is none, or a payload that is not the task's
 */
export async function plan<Payload>(db: Db, wanted: Plan<Payload>): Promise<Planned> {
  const timing = Timing.parse(wanted.timing)
  wanted.task.payload.parse(wanted.payload)
  // A timer for a moment that has just passed is late, not void.
  const afterMs = timing.kind === 'once' ? Number.NEGATIVE_INFINITY : await databaseNow(db)
  const dueAt = nextDue(timing, afterMs, wanted.endsAt?.getTime())
  const row = await db.one<Planned>`
    insert into schedule_entries as e (id, partner_id, org_id, key, task, payload, timing, misfire, due_at, ends_at, runs_left)
    values (${uuid()}, ${wanted.partnerId}, ${wanted.orgId}, ${wanted.key}, ${wanted.task.name},
      ${JSON.stringify(wanted.payload)}::text::jsonb, ${JSON.stringify(timing)}::text::jsonb, ${wanted.misfire ?? 'once'},
      ${dueAt}, ${wanted.endsAt ?? null}, ${wanted.maxRuns ?? null})
    on conflict (partner_id, key) do update set org_id = excluded.org_id, task = excluded.task, payload = excluded.payload,
      timing = excluded.timing, misfire = excluded.misfire, enabled = true, due_at = excluded.due_at,
      ends_at = excluded.ends_at, runs_left = excluded.runs_left, held_until = null, last_error = null, updated_at = now()
    returning e.id, e.due_at`
  if (!row) throw new Error('planning answered no row')
  await wakeAt(db, row.dueAt)
  return row
}

/** Takes it back. What is enqueued already still happens. False: there was none. */
export const unplan = async (db: Db, { partnerId, key }: EntryKey): Promise<boolean> =>
  (await db.run`
    delete from schedule_entries e where e.partner_id = ${partnerId} and e.key = ${key} and ${db.visible('e')}`) >
  0

interface Pausable {
  id: string
  enabled: boolean
  timing: Timing
  misfire: 'once' | 'skip'
  endsAt: Date | null
  runsLeft: number | null
}

/**
 * Pauses it, or goes on with it from now; a timer whose moment passed meanwhile happens at once, unless it is to be skipped. False: there
 * is none.
 */
export async function setPaused(db: Db, { partnerId, key }: EntryKey, paused: boolean): Promise<boolean> {
  const entry = await db.one<Pausable>`
    select e.id, e.enabled, e.timing, e.misfire, e.ends_at, e.runs_left from schedule_entries e
    where e.partner_id = ${partnerId} and e.key = ${key} and ${db.visible('e')} for update`
  if (!entry) return false
  if (entry.enabled !== paused) return true
  const dueAt = paused ? null : resumedAt(entry, await databaseNow(db))
  await db.run`
    update schedule_entries e set enabled = ${!paused}, due_at = ${dueAt}, updated_at = now()
    where e.id = ${entry.id} and ${db.visible('e')}`
  await wakeAt(db, dueAt)
  return true
}

function resumedAt({ timing, misfire, endsAt, runsLeft }: Pausable, nowMs: number): Date | null {
  if (runsLeft === 0) return null
  const late = timing.kind === 'once' && misfire === 'once'
  return nextDue(timing, late ? Number.NEGATIVE_INFINITY : nowMs, endsAt?.getTime())
}
