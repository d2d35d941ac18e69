import { Line } from './adapters/line.ts'
import { type Database, openPool } from './adapters/postgres.ts'
import { Pulse } from './adapters/pulse.ts'
import type { Config } from './config.ts'
import { giveTurns } from './kernel/pool-turns.ts'

/** Connections to the one database, by what they may do. */
export interface Pools {
  /** role svc_app: the API */
  app: Database
  /**
   * role svc_app: which user calls, logins, and whether this process is ready. Open all the time, so that neither a crowd of other requests
   * nor a server whose connections are all in use keeps anybody out.
   */
  reserve: Database
  /** role svc_app: counts of limits. They are made while a request holds a connection of the API's pool, and must never wait for that. */
  limits: Database
  /** role svc_worker: background work */
  worker: Database
  /** role svc_worker: what gateways ask; it does not wait for background work */
  edge: Database
  /** what all of them go over */
  line: Line
  /** Lets what runs come to its end, for five seconds. */
  close(): Promise<void>
  /** Ends them at once; what waits for an answer is told that there will be none. */
  abandon(): Promise<void>
}

export interface PoolsOptions {
  /** told when the database is away, and when it is back */
  changed?: ((away: boolean) => void) | undefined
  /** how long a request waits for a connection, in milliseconds; default 2 s */
  turnWithinMs?: number | undefined
  /** guards that a proof takes away: `database_pulse`, `pool_turns`, `pool_reserve`, `lock_timeout` */
  without?: ReadonlySet<string> | undefined
}

const reservedConnections = 3
const limitConnections = 2
/** Reserved ones that ended, as all do in time, are made anew within this. */
const warmEveryMs = 30_000
/** A request that waits longer than this for a connection has a server with too much to do before it. */
const withinMs = 2_000
/** Beyond any burst that can be served within that. */
const maxWaiting = 1_000

/** Connections of each. Gateways ask one thing after the other. */
export const poolSizes = ({ databasePool }: Pick<Config, 'databasePool'>) => ({
  api: databasePool,
  reserve: reservedConnections,
  worker: databasePool,
  edge: Math.max(2, Math.ceil(databasePool / 2)),
})

/** Nothing is connected yet but what is kept open. */
export function openPools(config: Config, options: PoolsOptions = {}): Pools {
  const { changed, turnWithinMs = withinMs, without = new Set() } = options
  const { databaseUrl, databaseAppUrl = databaseUrl, databaseWorkerUrl = databaseUrl } = config
  const line = new Line()
  const sizes = poolSizes(config)
  const appOf = (name: string, max: number) =>
    openPool({
      url: databaseAppUrl,
      role: 'svc_app',
      max,
      name,
      line,
      for: 'request',
      ...(without.has('lock_timeout') && { lockTimeoutMs: 0, statementTimeoutMs: 0 }),
    })
  const workerOf = (name: string, max: number) =>
    openPool({ url: databaseWorkerUrl, role: 'svc_worker', max, name, line })
  const app = appOf('svc-api', sizes.api)
  const limits = appOf('svc-limits', limitConnections)
  const reserve = without.has('pool_reserve') ? app : appOf('svc-reserve', sizes.reserve)
  const worker = workerOf('svc-worker', sizes.worker)
  const edge = workerOf('svc-edge', sizes.edge)
  const probe = openPool({
    url: databaseAppUrl,
    role: 'svc_app',
    max: 1,
    name: 'svc-pulse',
    line,
    probing: true,
  })
  if (!without.has('pool_turns')) {
    const limit = { maxWaiting, waitMs: turnWithinMs }
    giveTurns(app, { ...limit, atOnce: sizes.api }, line)
    if (reserve !== app) giveTurns(reserve, { ...limit, atOnce: sizes.reserve }, line)
  }
  const warm = () => {
    if (reserve !== app) keepOpen(reserve, sizes.reserve)
    keepOpen(limits, limitConnections)
  }
  warm()
  const warming = setInterval(warm, warmEveryMs).unref()
  const pulse = without.has('database_pulse')
    ? undefined
    : new Pulse({
        line,
        probe,
        changed: (away) => {
          if (!away) warm()
          changed?.(away)
        },
      })
  const all = new Set([app, reserve, limits, worker, edge, probe])
  const end = async (timeout: number) => {
    clearInterval(warming)
    await pulse?.close()
    await Promise.all([...all].map((pool) => pool.end({ timeout })))
  }
  return {
    app,
    reserve,
    limits,
    worker,
    edge,
    line,
    close: () => end(5),
    abandon: () => end(0),
  }
}

/** All of its connections at once, as each is busy with one. Where that fails, who needs one is told; it is tried again. */
function keepOpen(pool: Database, connections: number): void {
  for (let n = 0; n < connections; n++) void pool`select 1`.catch(() => undefined)
}
