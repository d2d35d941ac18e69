import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import postgres, { type Sql } from 'postgres'
import { Umzug } from 'umzug'
import { buildsOnJobs, installJobSchema } from './job-schema.ts'

/** One file of `db/migrations`: its name orders it, its SHA-256 is remembered when it is applied. */
export interface Migration {
  name: string
  text: string
  checksum: string
}

/** A schema that this program cannot work with. The message is one line that names the file. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

/** Where the files lie when nothing else is said: beside this one. */
export const migrationsDir = () => fileURLToPath(new URL('./migrations', import.meta.url))

/** The migrations of a folder, in order. A bundle says where its folder is, since it does not lie beside the sources. */
export function readMigrations(dir = migrationsDir()): Migration[] {
  const files = readdirSync(dir).filter((file) => file.endsWith('.sql'))
  return files.sort().map((name) => {
    const text = readFileSync(join(dir, name), 'utf8')
    return { name, text, checksum: createHash('sha256').update(text).digest('hex') }
  })
}

interface Applied {
  name: string
  checksum: string
}

/** Any number will do, as long as all starters of this product take the same. */
const lockKey = 7_270_010
/** A migration that waits for a lock makes every later statement on that table wait behind it: so no longer than requests do. */
const lockTimeout = '2s'
/** Then it lets them through, and tries again. */
const lockPauseMs = 1_000
const lockTries = 15
/** SQLSTATE */
const lockNotAvailable = '55P03'

/**
 * Compares what was applied with what there is.
 * An applied file that changed or is gone is refused. One that is newer than all of ours is not: going back to the version
 * before means running against the newer schema (interface §Versioning 8).
 */
export function pendingOf(migrations: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const newest = migrations.at(-1)?.name ?? ''
  for (const { name, checksum } of applied) {
    const file = known.get(name)
    if (!file && name < newest)
      throw new MigrationError(`migration ${name} was applied, but its file is missing`)
    if (file && file.checksum !== checksum)
      throw new MigrationError(`migration ${name} was changed after it was applied (checksum mismatch)`)
  }
  const done = new Set(applied.map(({ name }) => name))
  return migrations.filter(({ name }) => !done.has(name))
}

/** What was applied to a database, oldest first; nothing where none ever was. */
export async function readApplied(sql: Sql): Promise<Applied[]> {
  const [table] = await sql`select to_regclass('svc_meta.migrations') as name`
  if (!table?.['name']) return []
  return [...(await sql<Applied[]>`select name, checksum from svc_meta.migrations order by name`)]
}

async function prepare(sql: Sql): Promise<void> {
  await sql`create schema if not exists svc_meta`
  await sql`create table if not exists svc_meta.migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`
  await sql`grant usage on schema svc_meta to public`
  await sql`grant select on svc_meta.migrations to public`
}

/** One file, one transaction, with its row in it. `-- no-transaction` on the first line: the one statement runs on its own. */
async function apply(sql: Sql, migration: Migration): Promise<void> {
  const { name, text, checksum } = migration
  if (buildsOnJobs(migration)) await installJobs(sql)
  const remember = (on: Sql) =>
    on`insert into svc_meta.migrations (name, checksum) values (${name}, ${checksum})`
  try {
    if (text.startsWith('-- no-transaction')) {
      await sql.unsafe(text).simple()
      await remember(sql)
      return
    }
    await whenUnlocked(() =>
      sql.begin(async (tx) => {
        await remember(tx as unknown as Sql)
        await tx.unsafe(`set local lock_timeout = '${lockTimeout}'`)
        await tx.unsafe(text).simple()
      }),
    )
  } catch (error) {
    throw new MigrationError(`migration ${name} failed: ${(error as Error).message}`, { cause: error })
  }
}

/** A transaction that did not get its locks leaves nothing behind, and is begun anew. */
async function whenUnlocked(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await work()
      return
    } catch (error) {
      if ((error as { code?: string }).code !== lockNotAvailable || tries === lockTries) throw error
      await sleep(lockPauseMs)
    }
  }
}

async function installJobs(sql: Sql): Promise<void> {
  try {
    await installJobSchema(sql)
  } catch (error) {
    throw new MigrationError(`the job queue’s migrations failed: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

async function migrateLocked(sql: Sql, migrations: readonly Migration[]): Promise<string[]> {
  await prepare(sql)
  const pending = new Set(pendingOf(migrations, await readApplied(sql)))
  const umzug = new Umzug({
    migrations: migrations.map((migration) => ({ name: migration.name, up: () => apply(sql, migration) })),
    storage: {
      executed: async () => migrations.filter((migration) => !pending.has(migration)).map(({ name }) => name),
      logMigration: async () => undefined, // written in the migration's own transaction
      unlogMigration: async () => undefined,
    },
    logger: undefined,
  })
  const done = await umzug.up().catch(rethrowCause)
  if (migrations.some(buildsOnJobs)) await installJobs(sql) // a newer library brings newer migrations
  return done.map(({ name }) => name)
}

/** Umzug wraps what a migration threw; the line to show is ours. */
function rethrowCause(error: unknown): never {
  const cause = (error as { cause?: unknown }).cause
  throw cause instanceof MigrationError ? cause : error
}

/**
 * Applies what is pending, in order; returns the names. Starters that do so at the same time wait for one another, and each
 * file is applied once.
 *
 * @param url of a user that may create roles and schemas
 * @throws MigrationError naming the file
 */
export async function migrate(
  url: string,
  migrations: readonly Migration[] = readMigrations(),
): Promise<string[]> {
  // One connection: the lock is the session's, so it must be the session that works.
  const sql = postgres(url, {
    max: 1,
    onnotice: () => undefined,
    connect_timeout: 10,
    idle_timeout: 0,
    max_lifetime: null,
  })
  try {
    await sql`select pg_advisory_lock(${lockKey})`
    return await migrateLocked(sql, migrations)
  } finally {
    await sql.end({ timeout: 5 }) // ends the session, and the lock with it
  }
}
