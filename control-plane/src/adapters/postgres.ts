import postgres, { type Sql } from 'postgres'
import { exactText, Timestamp } from './timestamps.ts'

/** SQL with this product's conversions: snake_case columns read as camelCase, bigint as number, `date` as `YYYY-MM-DD`. */
export type Database = Sql

export interface PoolOptions {
  /** connection URL; when its user is not the role itself, the session takes the role at start-up */
  url: string
  role?: 'svc_app' | 'svc_worker'
  max: number
  /** shown in `pg_stat_activity` */
  name: string
  statementTimeoutMs?: number
}

/** Seconds to wait for a connection: the request that waits has a user behind it. */
const connectTimeoutSeconds = 5
/** Seconds before a lost connection is made anew: a server that is back is noticed within one, by no herd. */
const reconnectAfter = (failures: number) => Math.min(1, 0.05 * 2 ** failures) * (0.5 + Math.random() / 2)
/** A handler that forgot to finish its transaction must not hold locks for long. */
const idleInTransactionMs = 15_000
/** Longer than any statement of the API may take; a plan gone wrong ends here. */
const statementTimeoutMs = 15_000
/** Connections are renewed so that a failover's new primary is found. */
const lifetimeSeconds = 30 * 60

const types = {
  bigint: { to: 20, from: [20], serialize: String, parse: Number },
  day: { to: 1082, from: [1082], serialize: String, parse: (text: string) => text },
  timestamp: {
    to: 1184,
    from: [1114, 1184],
    serialize: (at: Date | string) => (at instanceof Date ? exactText(at) : at),
    parse: (text: string) => new Timestamp(text),
  },
}

/** A pool of connections. `end()` closes it. Every timeout is set. */
export function openPool({ url, role, max, name, ...options }: PoolOptions): Database {
  return postgres(url, {
    max,
    connect_timeout: connectTimeoutSeconds,
    max_lifetime: lifetimeSeconds,
    backoff: reconnectAfter,
    onnotice: () => undefined,
    types,
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    connection: {
      application_name: name,
      search_path: 'svc',
      TimeZone: 'UTC',
      statement_timeout: options.statementTimeoutMs ?? statementTimeoutMs,
      idle_in_transaction_session_timeout: idleInTransactionMs,
      ...(role && { role }),
    },
  }) as unknown as Database
}
