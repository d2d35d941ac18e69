import postgres, { type Sql } from 'postgres'
import type { Line, Reached } from './line.ts'
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
  /** whose connections these are: see {@link serverTimeouts}; default `work` */
  for?: keyof typeof serverTimeouts
  /** instead of what those have; 0: none */
  statementTimeoutMs?: number
  /** instead of what those have; 0: none */
  lockTimeoutMs?: number
  /** what its sockets belong to; default: they are its own alone */
  line?: Line
  /** it is made also while the line is away */
  probing?: true
}

/**
 * What Postgres ends by itself, in milliseconds, as it holds a connection, and locks that others wait for. Migrations have their own
 * (`db/migrate.ts`), and so have exports ({@link exportTimeouts}).
 */
export const serverTimeouts = {
  /** somebody waits for the answer, and behind them others for the connection */
  request: { statement: 5_000, lock: 2_000, idleInTransaction: 10_000 },
  /** chunks of many rows, tried again by themselves; commands of an operator */
  work: { statement: 15_000, lock: 5_000, idleInTransaction: 15_000 },
} as const

/** Of a transaction that reads for as long as its reader takes it: its first rows may have to be sorted, and a reader may stall. */
export const exportTimeouts = { statement: 15_000, idleInTransaction: 15_000 } as const

/** Seconds to wait for a connection: the request that waits has a user behind it. */
const connectTimeoutSeconds = 5
/** Seconds before a lost connection is made anew: a server that is back is noticed within one, by no herd. */
const reconnectAfter = (failures: number) => Math.min(1, 0.05 * 2 ** failures) * (0.5 + Math.random() / 2)
/** Seconds before what asks whether it is back asks again: it is one for each process. */
const probeAgainAfter = 0.1
/** Connections are renewed so that a failover's new primary is found. */
const lifetimeSeconds = 30 * 60

const isTime = (at: Date | string): at is Date => at instanceof Date && !Number.isNaN(at.getTime())

const types = {
  bigint: { to: 20, from: [20], serialize: String, parse: Number },
  day: { to: 1082, from: [1082], serialize: String, parse: (text: string) => text },
  timestamp: {
    to: 1184,
    from: [1114, 1184],
    // What throws in here is thrown while a statement is written: its connection would be lost to all.
    serialize: (at: Date | string) => (isTime(at) ? exactText(at) : String(at)),
    parse: (text: string) => new Timestamp(text),
  },
}

/** A pool of connections. `end()` closes it. Every timeout is set. */
export function openPool({ url, role, max, name, line, probing, ...options }: PoolOptions): Database {
  const timeouts = serverTimeouts[options.for ?? 'work']
  return postgres(url, {
    max,
    ...(line && { socket: (reached: Reached) => line.open(reached, probing) }),
    connect_timeout: connectTimeoutSeconds,
    max_lifetime: lifetimeSeconds,
    backoff: probing ? () => probeAgainAfter : reconnectAfter,
    onnotice: () => undefined,
    types,
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    connection: {
      application_name: name,
      search_path: 'svc',
      TimeZone: 'UTC',
      statement_timeout: options.statementTimeoutMs ?? timeouts.statement,
      lock_timeout: options.lockTimeoutMs ?? timeouts.lock,
      idle_in_transaction_session_timeout: timeouts.idleInTransaction,
      ...(role && { role }),
    },
  }) as unknown as Database
}
