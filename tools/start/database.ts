import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { unprivileged } from '../services/account.ts'
import { placeData } from '../services/postgres-data.ts'
import { startPostgres } from '../services.ts'
import type { DataFolder } from './data-folder.ts'
import { Expected } from './options.ts'
import type { Running } from './stack.ts'

export interface Database {
  /** of a user that may create roles and schemas */
  url: string
  /** For people. */
  what: string
  running?: Running
}

const name = 'svc'

/** Where an embedded cluster of this data folder has its files. */
const clusterOf = (folder: DataFolder) => placeData(folder.postgres, unprivileged(folder.postgres))

/** Whether there is an embedded cluster. */
export const hasCluster = (folder: DataFolder): boolean => existsSync(join(clusterOf(folder), 'PG_VERSION'))

/** Removes the embedded cluster, wherever it had to go. */
export function removeCluster(folder: DataFolder): void {
  rmSync(clusterOf(folder), { recursive: true, force: true })
}

/** The database that `DATABASE_URL` names, else one of our own, kept in the data folder. */
export async function openDatabase(folder: DataFolder, say: (text: string) => void): Promise<Database> {
  const given = process.env['DATABASE_URL']
  if (given) return { url: given, what: `PostgreSQL ${await versionOf(given)} of DATABASE_URL` }
  const server = await startPostgres({ dataDir: folder.postgres, onNotice: say })
  const url = server.url.replace(/\/postgres$/, `/${name}`)
  const running = {
    name: 'PostgreSQL',
    stop: server.stop,
    kill: server.kill,
    exited: server.exited.then(() => 'ended'),
  }
  try {
    await ask(server.url, async (sql) => {
      const [found] = await sql`select from pg_database where datname = ${name}`
      if (!found) await sql`create database ${sql(name)}`
    })
  } catch (error) {
    await server.stop()
    throw error
  }
  return { url, what: `PostgreSQL, own, on port ${server.port}, data in ${server.dataDir}`, running }
}

/** Throws in one line when `DATABASE_URL` names a database that does not answer. */
export async function requireDatabase(): Promise<void> {
  const given = process.env['DATABASE_URL']
  if (given) await versionOf(given)
}

async function versionOf(given: string): Promise<string | undefined> {
  const query = (sql: postgres.Sql) =>
    sql<{ version: string }[]>`select current_setting('server_version') as version`
  const [row] = await ask(given, query, 'database that DATABASE_URL names')
  return row?.version
}

/** One question on a connection of its own. */
async function ask<T>(url: string, query: (sql: postgres.Sql) => Promise<T>, what = 'database'): Promise<T> {
  let sql: postgres.Sql | undefined
  try {
    sql = postgres(url, { max: 1, connect_timeout: 10, onnotice: () => undefined })
    return await query(sql)
  } catch (error) {
    throw new Expected(`The ${what} cannot be used: ${(error as Error).message}`)
  } finally {
    await sql?.end({ timeout: 5 })
  }
}
