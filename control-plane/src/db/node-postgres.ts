import type { PoolConfig } from 'pg'
import type { Sql } from 'postgres'

/** What postgres.js made of a URL and the environment; its own types do not say all of it. */
interface Reached {
  host: readonly string[]
  port: readonly number[]
  path: string | false | undefined
  user: string
  pass: string | (() => string | Promise<string>) | null
  database: string
  ssl: boolean | 'require' | 'allow' | 'prefer' | 'verify-full' | object
}

/** `require` asks for encryption alone, as libpq has it; `prefer` and `allow` promise none, and node-postgres cannot try both. */
function encryption(ssl: Reached['ssl']): NonNullable<PoolConfig['ssl']> {
  if (ssl === 'require') return { rejectUnauthorized: false }
  if (ssl === 'prefer' || ssl === 'allow') return false
  return ssl === 'verify-full' ? true : ssl
}

/**
 * How node-postgres, the job queue's driver, reaches the database that `sql` reaches: the same server as the same user, in the role
 * given. The two drivers read URLs differently, so what one has made of it is handed to the other.
 */
export function nodePostgres(sql: Sql, role: 'svc_owner' | 'svc_worker', name: string): PoolConfig {
  const { host, port, path, user, pass, database, ssl } = sql.options as unknown as Reached
  return {
    host: path ? path.slice(0, path.lastIndexOf('/')) : (host[0] ?? 'localhost'),
    port: port[0] ?? 5432,
    user,
    password: pass ?? '',
    database,
    ssl: encryption(ssl),
    application_name: name,
    options: `-c role=${role} -c search_path=svc -c TimeZone=UTC`,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  }
}
