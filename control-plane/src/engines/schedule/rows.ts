import { plainArray, textArray } from '../../db/array-literal.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { Job, Recurrence } from './job.ts'
import { databaseNow } from './database-now.ts'
import { nextDue } from './occurrences.ts'

const until = (db: Db, ms: number) => db.sql`now() + make_interval(secs => ${ms / 1000}::float8)`

/** When what goes by the clock is due next; null for what goes by a period, of which the statement knows. */
async function clockTime(db: Db, job: Recurrence): Promise<Date | null> {
  if ('everyMs' in job) return null
  const due = nextDue({ kind: 'cron', expression: job.cron, zone: 'UTC' }, await databaseNow(db))
  if (!due) throw new Error(`never happens: ${job.cron}`)
  return due
}

/** Makes the schedules of these jobs and gives known ones their present times. What goes by a period is due at once at first. */
export async function declare(db: Db, jobs: readonly Job[]): Promise<void> {
  const names = textArray(jobs.map(({ name }) => name))
  const periods = plainArray(jobs.map((job) => ('everyMs' in job ? job.everyMs : null)))
  const crons = textArray(jobs.map((job) => ('cron' in job ? job.cron : null)))
  const times = await Promise.all(jobs.map((job) => clockTime(db, job)))
  await db.run`
    insert into schedules as s (name, every_ms, cron, due_at)
    select b.name, b.every_ms, b.cron, coalesce(b.due_at, now())
    from unnest(${names}::text[], ${periods}::int[], ${crons}::text[],
      ${textArray(times.map((at) => at?.toISOString()))}::timestamptz[]) as b (name, every_ms, cron, due_at) order by b.name
    on conflict (name) do update set every_ms = excluded.every_ms, cron = excluded.cron,
      due_at = case when excluded.cron is null
        then least(s.due_at, now() + make_interval(secs => excluded.every_ms / 1000.0)) else excluded.due_at end
    where (s.every_ms, s.cron) is distinct from (excluded.every_ms, excluded.cron)`
}

/** Of these jobs, those that are due and that nobody runs: now they are this runner's. */
export async function takeDue(
  db: Db,
  runner: string,
  names: readonly string[],
  leaseMs: number,
): Promise<string[]> {
  const rows = await db.rows<{ name: string }>`
    with due as (
      select name from schedules
      where name = any(${textArray(names)}::text[]) and due_at <= now() and (leased_until is null or leased_until < now())
      order by due_at for update skip locked)
    update schedules s set leased_by = ${runner}, leased_until = ${until(db, leaseMs)}
    from due where s.name = due.name returning s.name`
  return rows.map((row) => row.name)
}

/** Holds on to jobs that are still running. */
export async function keep(db: Db, runner: string, names: readonly string[], leaseMs: number): Promise<void> {
  await db.run`
    update schedules set leased_until = ${until(db, leaseMs)}
    where leased_by = ${runner} and name = any(${textArray(names)}::text[])`
}

/** Done: due again, once for all the times that were missed. Says nothing if another runner took the job over meanwhile. */
export async function finish(db: Db, runner: string, job: Job, error: string | undefined): Promise<void> {
  const time = await clockTime(db, job)
  await db.run`
    update schedules set leased_by = null, leased_until = null, last_run_at = now(), last_error = ${error ?? null},
      due_at = coalesce(${time}::timestamptz, now() + make_interval(secs => every_ms / 1000.0))
    where name = ${job.name} and leased_by = ${runner}`
}
