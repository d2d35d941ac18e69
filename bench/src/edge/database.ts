import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { startPostgres } from '../../../tools/services.ts'
import type { Ground } from '../method/contract.ts'

export interface Database {
  /** the superuser's */
  url: string
  pid: number
}

/**
 * A Postgres of this run that syncs to disk as one in production does. It notes when each row was committed, which costs 12 bytes a
 * transaction and says how stale a heartbeat is without asking all the time.
 */
export async function startDatabase(ground: Ground): Promise<Database> {
  chmodSync(ground.folder, 0o711) // it may run as another user
  const server = await startPostgres({
    dataDir: join(ground.folder, 'postgres'),
    settings: { track_commit_timestamp: 'on', shared_buffers: '512MB', max_wal_size: '4GB' },
    onNotice: () => undefined,
  })
  // What is in it goes with the folder: nobody waits for it to be written out.
  ground.afterwards(() => server.kill())
  const sql = postgres(server.url, { max: 1, onnotice: () => undefined })
  await sql`create database svc_bench`
  await sql.end()
  const url = new URL(server.url)
  url.pathname = '/svc_bench'
  return { url: url.href, pid: server.pid }
}
