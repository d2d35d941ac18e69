import type { Db } from '../../kernel/tenancy.ts'

/** What was found and done when another life of the database was noticed. */
export interface Restored {
  /** of the life before, ISO 8601 */
  before: string
  /** to which moment it was restored, where the server still knows; ISO 8601 */
  restoredTo: string | null
  /** commands whose devices are asked what became of them */
  asked: number
  /** ids of schedules whose passed moments count as acted upon, the first hundred */
  skipped: string[]
  skippedCount: number
}

/** Two that start at the same time notice one after the other. */
export const lockLives = (db: Db) => db.run`select pg_advisory_xact_lock(hashtext('svc.database_lives'))`

/** The number of the present life; undefined: nobody has noticed it yet. */
export async function findLife(db: Db): Promise<number | undefined> {
  const row = await db.one<{ number: number }>`
    select l.number from database_lives l where l.identity = svc.database_identity()`
  return row?.number
}

/** The newest life that was noticed, which is not the present one. */
export const findEarlierLife = (db: Db) => db.one<{ beganAt: Date }>`
  select l.began_at from database_lives l order by l.number desc limit 1`

/** @param askMs how long agents are asked; null: never, it is the first life */
export async function insertLife(
  db: Db,
  askMs: number | null,
  details: Restored | Record<string, never>,
): Promise<number> {
  const row = await db.one<{ number: number }>`
    insert into database_lives (number, identity, ask_until, details)
    select greatest(floor(extract(epoch from clock_timestamp()) * 1000)::bigint,
        (select coalesce(max(l.number), 0) + 1 from database_lives l)),
      svc.database_identity(), now() + make_interval(secs => ${askMs === null ? null : askMs / 1000}::float8),
      ${db.sql.json(details as never)}
    returning number`
  if (!row) throw new Error('a life was inserted and has no number')
  return row.number
}

/** What was replayed last, as long as the server has not been restarted since. */
export async function restoredTo(db: Db): Promise<string | null> {
  const row = await db.one<{ at: Date | null }>`select pg_last_xact_replay_timestamp() as at`
  return row?.at?.toISOString() ?? null
}

/** Lives of which the audit log does not tell yet; from now on it does. For the role that may write there. */
export const takeUntold = (db: Db) => db.rows<{ number: number; details: Restored }>`
  update database_lives l set told_at = now() where l.told_at is null and l.ask_until is not null
  returning l.number, l.details`
