import { plainArray, textArray } from '../../../db/array-literal.ts'
import { jobSchemaVersion } from '../../../db/job-schema.ts'
import type { WorkerDb } from '../../../kernel/db.ts'
import type { Db } from '../../../kernel/tenancy.ts'

/** Failed jobs per statement that removes old ones. */
const chunk = 5_000

/** A job that ended with the worker that ran it, on its last attempt. */
export interface Ended {
  id: string
  task: string
}

/** A migration of the queue's schema that our library must not work on, or undefined: a newer version of the server has applied it. */
export const breakingMigration = async (db: Db): Promise<number | undefined> =>
  (
    await db.one<{ id: number }>`
      select id from graphile_worker.migrations where breaking and id > ${jobSchemaVersion} order by id limit 1`
  )?.id

/** Says that a pool is alive; false: it was not known, or given up for dead. */
export const renew = async (db: Db, pool: string): Promise<boolean> =>
  (await db.run`update job_pools set seen_at = now() where pool = ${pool}`) > 0

export const join = (db: Db, pool: string) =>
  db.run`insert into job_pools (pool) values (${pool}) on conflict (pool) do update set seen_at = now()`

export const leave = (db: WorkerDb, pool: string) =>
  db.tx((tx) => tx.run`delete from job_pools where pool = ${pool}`)

/** Gives the jobs of dead pools to whoever comes next. Returns what had no attempt left. */
export async function takeOver(db: Db, deadMs: number): Promise<{ pools: string[]; ended: Ended[] }> {
  const dead = await db.rows<{ pool: string }>`
    delete from job_pools where seen_at < now() - make_interval(secs => ${deadMs / 1_000}::float8) returning pool`
  const pools = dead.map(({ pool }) => pool)
  if (pools.length === 0) return { pools, ended: [] }
  const ended = await db.rows<Ended>`
    update graphile_worker._private_jobs j set last_error = 'its worker died', run_at = now()
    from graphile_worker._private_tasks t
    where t.id = j.task_id and j.locked_by = any(${textArray(pools)}::text[]) and j.attempts >= j.max_attempts
    returning j.id::text, t.identifier as task`
  await db.run`select graphile_worker.force_unlock_workers(${textArray(pools)}::text[])`
  return { pools, ended }
}

/** Takes from a job that this pool runs the attempts that it has left. */
export const useUpAttempts = (db: WorkerDb, id: string, pool: string) =>
  db.tx(
    (tx) => tx.run`
      update graphile_worker._private_jobs set attempts = max_attempts where id = ${id}::bigint and locked_by = ${pool}`,
  )

/** Jobs that were broken off have not failed: they are due at once, with as many attempts as before. */
export const giveBack = (db: WorkerDb, ids: readonly string[]) =>
  db.tx(
    (tx) => tx.run`
      update graphile_worker._private_jobs set attempts = greatest(attempts - 1, 0), run_at = now()
      where id = any(${plainArray(ids)}::bigint[]) and locked_at is null`,
  )

/** How many jobs are due, and since when the oldest is, in seconds. */
export const backlog = (db: WorkerDb) =>
  db.one<{ waiting: number; ageSeconds: number }>`
    select count(*)::int as waiting, coalesce(extract(epoch from now() - min(run_at)), 0)::float8 as age_seconds
    from graphile_worker._private_jobs where is_available and run_at <= now()`

/** Removes jobs that failed for good a week ago. Their last failure moved `run_at`, by six hours at most. */
export async function pruneFailed(db: WorkerDb): Promise<number> {
  for (let removed = 0; ; ) {
    const count = await db.tx(
      (tx) => tx.run`
        delete from graphile_worker._private_jobs where id in (
          select id from graphile_worker._private_jobs
          where attempts >= max_attempts and locked_at is null and run_at < now() - interval '7 days' limit ${chunk})`,
    )
    removed += count
    if (count < chunk) return removed
  }
}
