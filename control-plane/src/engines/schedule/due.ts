import { plainArray, storable, textArray } from '../../db/array-literal.ts'
import type { WorkerDb } from '../../kernel/db.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { Occasion } from './occasion.ts'
import { databaseNow } from './database-now.ts'
import { nextDue } from './occurrences.ts'
import type { Timing } from './timing.ts'

/** Entries per transaction. */
const chunk = 100
/** A moment that is further in the past than this was missed. */
const missedAfterMs = 60_000
/** An entry that could not be acted upon is left alone for so long. */
const heldMs = 60_000
/** Longest error text that is kept with an entry, in characters. */
const maxError = 2_000

interface Due {
  id: string
  partnerId: string
  orgId: string | null
  task: string
  payload: Record<string, unknown>
  timing: Timing
  misfire: 'once' | 'skip'
  dueAt: Date
  endsAt: Date | null
  runsLeft: number | null
}

export interface DueDeps {
  /** scope `system` */
  db: WorkerDb
  /** Puts a task into the job queue, in the given transaction. */
  enqueue: (db: Db, task: string, payload: Record<string, unknown>, options: { key: string }) => Promise<void>
  log: { error(details: object, message: string): void }
}

interface Acted {
  seen: number
  ran: number
}

/**
 * Acts upon what is due: each moment once, in whatever number of processes this runs. A run's row, its job and the next moment are one
 * transaction. What cannot be acted upon is held and reported, and in nobody's way. Returns how many were enqueued.
 */
export async function actOnDue(deps: DueDeps): Promise<number> {
  let enqueued = 0
  for (;;) {
    const { seen, ran } = await actTogether(deps).catch(() => actApart(deps)) // which meets the same error again
    enqueued += ran
    if (seen < chunk) return enqueued
  }
}

const actTogether = ({ db, enqueue }: DueDeps): Promise<Acted> =>
  db.tx(async (tx) => act(tx, await takeDue(tx, chunk), enqueue))

/** One after another, where they failed together: the one whose fault it is fails again, and says why. */
async function actApart(deps: DueDeps): Promise<Acted> {
  let ran = 0
  for (let seen = 0; seen < chunk; seen++) {
    const acted = await actOnOne(deps)
    if (acted.seen === 0) return { seen, ran }
    ran += acted.ran
  }
  return { seen: chunk, ran }
}

async function actOnOne({ db, enqueue, log }: DueDeps): Promise<Acted> {
  let taken: Due | undefined
  try {
    return await db.tx(async (tx) => {
      const due = await takeDue(tx, 1)
      taken = due[0]
      return act(tx, due, enqueue)
    })
  } catch (error) {
    if (!taken) throw error
    const { id, partnerId, task } = taken
    await db.tx((tx) => hold(tx, id, error))
    log.error(
      { schedule: id, partner: partnerId, task, err: error },
      'a schedule could not be acted upon; it is tried again later',
    )
    return { seen: 1, ran: 0 }
  }
}

export const takeDue = (db: Db, limit: number) => db.rows<Due>`
  select e.id, e.partner_id, e.org_id, e.task, e.payload, e.timing, e.misfire, e.due_at, e.ends_at, e.runs_left
  from schedule_entries e where e.due_at <= now() and (e.held_until is null or e.held_until <= now())
  order by e.due_at limit ${limit} for update skip locked`

async function act(db: Db, due: readonly Due[], enqueue: DueDeps['enqueue']): Promise<Acted> {
  if (due.length === 0) return { seen: 0, ran: 0 }
  const nowMs = await databaseNow(db)
  const missed = ({ misfire, dueAt }: Due) => misfire === 'skip' && nowMs - dueAt.getTime() > missedAfterMs
  const first = await claim(
    db,
    due.filter((entry) => !missed(entry)).map(({ id }) => id),
  )
  const running = due.filter(({ id }) => first.has(id))
  await Promise.all(running.map((entry) => hand(db, entry, enqueue)))
  await moveOn(db, due, first, nowMs)
  return { seen: due.length, ran: running.length }
}

/** Those of them whose moment was not acted upon before: also a moment that is planned anew happens once. */
async function claim(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.rows<{ id: string }>`
    insert into schedule_runs (schedule_id, due_at, partner_id, org_id)
    select e.id, e.due_at, e.partner_id, e.org_id from schedule_entries e where e.id = any(${plainArray(ids)}::uuid[])
    on conflict do nothing returning schedule_id as id`
  return new Set(rows.map(({ id }) => id))
}

function hand(
  db: Db,
  { id, partnerId, orgId, dueAt, task, payload }: Due,
  enqueue: DueDeps['enqueue'],
): Promise<void> {
  const schedule: Occasion = { id, partnerId, orgId, dueAt: dueAt.toISOString() }
  return enqueue(db, task, { ...payload, schedule }, { key: `schedule:${id}:${schedule.dueAt}` })
}

export async function moveOn(
  db: Db,
  due: readonly Due[],
  ran: ReadonlySet<string>,
  nowMs: number,
): Promise<void> {
  const left = due.map(({ id, runsLeft }) => (runsLeft === null ? null : runsLeft - (ran.has(id) ? 1 : 0)))
  const dueAt = due.map(({ timing, endsAt }, n) =>
    left[n] === 0 ? null : nextDue(timing, nowMs, endsAt?.getTime()),
  )
  await db.run`
    update schedule_entries e
    set due_at = b.due_at, runs_left = b.runs_left, held_until = null, last_error = null, updated_at = now()
    from unnest(${plainArray(due.map(({ id }) => id))}::uuid[],
      ${textArray(dueAt.map((at) => at?.toISOString()))}::timestamptz[], ${plainArray(left)}::integer[])
      as b (id, due_at, runs_left)
    where e.id = b.id`
}

async function hold(db: Db, id: string, error: unknown): Promise<void> {
  await db.run`
    update schedule_entries set held_until = now() + make_interval(secs => ${heldMs / 1_000}::float8),
      last_error = ${storable(String(error)).slice(0, maxError)}
    where id = ${id}`
}

/** How long until an entry is due, in milliseconds; null: nothing is planned, or all of it is held. */
export async function untilDue(db: Db): Promise<number | null> {
  const row = await db.one<{ ms: number }>`
    select (extract(epoch from e.due_at - now()) * 1000)::float8 as ms from schedule_entries e
    where e.due_at is not null and (e.held_until is null or e.held_until <= now()) order by e.due_at limit 1`
  return row?.ms ?? null
}

/** Since when the oldest due moment waits, in seconds, and how many entries could not be acted upon. */
export const overdue = (db: Db) =>
  db.one<{ ageSeconds: number; held: number }>`
    select coalesce(extract(epoch from now() - min(e.due_at)), 0)::float8 as age_seconds, count(e.held_until)::int as held
    from schedule_entries e where e.due_at <= now()`
