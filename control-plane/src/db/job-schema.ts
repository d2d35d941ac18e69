import type { Sql } from 'postgres'
import { nodePostgres } from './node-postgres.ts'

/** The newest migration of the job queue that is installed with us; a test compares. Known by heart, since loading it takes long. */
export const jobSchemaVersion = 19

/** Says on the first line of a migration of ours that it builds on the job queue's schema. */
export const buildsOnJobs = ({ text }: { text: string }) => text.startsWith('-- needs graphile_worker')

/** What the job queue's schema lacks, or undefined. A newer one is the next version's: theirs to keep compatible. */
export async function jobSchemaFlaw(sql: Sql): Promise<string | undefined> {
  const [table] = await sql`select to_regclass('graphile_worker.migrations') as name`
  if (!table?.['name']) return 'the job queue’s schema is not installed'
  const [row] = await sql<{ version: number }[]>`
    select coalesce(max(id), 0)::int as version from graphile_worker.migrations`
  const version = row?.version ?? 0
  return version < jobSchemaVersion
    ? `the job queue’s schema is at ${version} of ${jobSchemaVersion}`
    : undefined
}

/**
 * Brings the job queue's own schema up to date: its migrations, run by itself as svc_owner. To be called by whoever holds the lock
 * of migrations, when the roles are there.
 */
export async function installJobSchema(sql: Sql): Promise<void> {
  if (!(await jobSchemaFlaw(sql))) return
  await makeRoom(sql)
  const { Logger, Pool, runMigrations } = await import('./job-library.ts')
  const pool = new Pool({ ...nodePostgres(sql, 'svc_owner', 'svc-migrate'), max: 1 })
  // A connection that is lost is told to the statement on it, and there is always one.
  pool.on('error', () => undefined).on('connect', (client) => client.on('error', () => undefined))
  try {
    await runMigrations({ pgPool: pool, logger: new Logger(() => () => undefined) })
  } finally {
    await pool.end()
  }
}

/** svc_owner may not make schemas: what the library would begin with is there before it starts. */
async function makeRoom(sql: Sql): Promise<void> {
  await sql`create schema if not exists graphile_worker authorization svc_owner`
  await sql.begin(async (tx) => {
    await tx`set local role svc_owner`
    await tx`create table if not exists graphile_worker.migrations (
      id int primary key, ts timestamptz not null default now(), breaking boolean not null default false)`
  })
}
