import postgres, { type Sql } from 'postgres'
import { buildsOnJobs, jobSchemaFlaw } from './job-schema.ts'
import { type Migration, MigrationError, migrate, pendingOf, readApplied, readMigrations } from './migrate.ts'

/** A database that does not let us in. The message is one line that names the variable and the server, and no password. */
export class DatabaseError extends Error {
  override name = 'DatabaseError'
}

/** SQLSTATE of who may not come in, where, or not yet (PostgreSQL documentation, appendix A); postgres.js has its own for silence. */
const notLetIn = /^(28...|3D000|53300|57P0.|CONNECT_TIMEOUT|CONNECTION_\w+)$/

function refusal(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error
  const { code = '', message, syscall } = error as NodeJS.ErrnoException
  if (!notLetIn.test(code) && syscall === undefined) return error
  const { host, pathname } = new URL(url)
  return new DatabaseError(`DATABASE_URL: cannot use ${host}${pathname}: ${message || code}`, {
    cause: error,
  })
}

export interface PrepareOptions {
  databaseUrl: string
  /** false: refuse while anything is pending (AUTO_MIGRATE) */
  autoMigrate: boolean
  /** where the files lie in a bundle */
  migrationsDir: string | undefined
  /** told the names of what was applied */
  onApplied: (names: string[]) => void
}

/** What is wrong with the schema as this program knows it, or undefined. */
export type SchemaCheck = (sql: Sql) => Promise<string | undefined>

const check =
  (migrations: readonly Migration[]): SchemaCheck =>
  async (sql) => {
    const [next] = pendingOf(migrations, await readApplied(sql))
    if (next) return `migration ${next.name} is pending`
    return migrations.some(buildsOnJobs) ? jobSchemaFlaw(sql) : undefined
  }

async function refusePending(url: string, flaw: SchemaCheck): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined, connect_timeout: 10 })
  try {
    const pending = await flaw(sql)
    if (pending) throw new MigrationError(`${pending}: apply it, or set AUTO_MIGRATE=true`)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/**
 * Makes the schema what this program needs, or refuses: requests are answered only after all migrations are applied (interface
 * §Versioning 8).
 *
 * @returns a check for later, for a database that was exchanged underneath
 * @throws MigrationError, DatabaseError: one line each
 */
export async function prepareSchema(options: PrepareOptions): Promise<SchemaCheck> {
  const migrations = readMigrations(options.migrationsDir)
  try {
    await applyOrRefuse(options, migrations)
  } catch (error) {
    throw refusal(error, options.databaseUrl)
  }
  return check(migrations)
}

async function applyOrRefuse(
  { databaseUrl, autoMigrate, onApplied }: PrepareOptions,
  migrations: readonly Migration[],
): Promise<void> {
  if (!autoMigrate) return refusePending(databaseUrl, check(migrations))
  const applied = await migrate(databaseUrl, migrations)
  if (applied.length > 0) onApplied(applied)
}
