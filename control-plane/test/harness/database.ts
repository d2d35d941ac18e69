import { createHash, randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, inject } from 'vitest'
import { jobSchemaVersion } from '../../src/db/job-schema.ts'
import { migrate, readMigrations } from '../../src/db/migrate.ts'

/** A database of one test file, with all migrations applied and nothing in it. */
export interface TestDatabase {
  /** the superuser's; pools take the role they need */
  url: string
  name: string
  drop(): Promise<void>
}

/** A URL to another database of the same server. */
const urlTo = (database: string) => {
  const url = new URL(inject('databaseUrl'))
  url.pathname = `/${database}`
  return url.href
}

const admin = () => postgres(urlTo('postgres'), { max: 1, onnotice: () => undefined })

/** The migrated template, made once per state of the migrations and server: its name carries their checksum. */
async function template(): Promise<string> {
  const migrations = readMigrations()
  const checksum = createHash('sha256')
    .update(migrations.map((m) => m.checksum).join())
    .update(String(jobSchemaVersion))
    .digest('hex')
  const name = `svc_template_${checksum.slice(0, 16)}`
  const sql = admin()
  try {
    await sql`select pg_advisory_lock(hashtext(${name}))`
    const [ready] = await sql`select from pg_database where datname = ${name} and datallowconn = false`
    if (!ready) {
      await sql.unsafe(`drop database if exists ${name} with (force)`)
      await sql.unsafe(`create database ${name}`)
      await migrate(urlTo(name), migrations)
      await sql.unsafe(`alter database ${name} allow_connections false`)
    }
    return name
  } finally {
    await sql.end()
  }
}

async function run(statement: string): Promise<void> {
  const sql = admin()
  try {
    await sql.unsafe(statement)
  } finally {
    await sql.end()
  }
}

/** @param from what `create database` is told beside the name */
async function create(from = ''): Promise<TestDatabase> {
  const name = `svc_test_${process.pid}_${randomBytes(4).toString('hex')}`
  await run(`create database ${name} ${from}`)
  return { name, url: urlTo(name), drop: () => run(`drop database if exists ${name} with (force)`) }
}

/** A database with nothing in it: whoever uses it migrates it. The caller drops it. */
export const emptyDatabase = (): Promise<TestDatabase> => create()

/**
 * What a backup of it would be, restored; nobody may be connected to it meanwhile. The caller drops it. File by file, past the
 * write-ahead log: half the work, where nothing is synced.
 */
export const copyOf = ({ name }: Pick<TestDatabase, 'name'>): Promise<TestDatabase> =>
  create(`template ${name} strategy file_copy`)

/** Clones the template; the clone goes after the file's tests. Call at the top level of a `*.db.test.ts`, or in `beforeAll`. */
export const testDatabase = async (): Promise<TestDatabase> => copyOf({ name: await template() })

/** {@link testDatabase}, dropped when the file's tests are over. */
export async function databaseForFile(): Promise<TestDatabase> {
  const database = await testDatabase()
  afterAll(() => database.drop())
  return database
}
