import type { Sql } from 'postgres'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { poolRefusals, takeTurn } from './pool-turns.ts'

/** From a connection that was free to one that never came. */
const buckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 15]

/** Transactions of one pool. */
interface Load {
  waiting: number
  open: number
  waited: (seconds: number) => void
}

/** Pools that are measured; those of tests mostly are not. */
const loads = new WeakMap<Sql, Load>()

/** Shows how long transactions wait for a connection of these pools, how many do, and how many in vain. @param sizes connections of each */
export function measurePools<Name extends string>(
  registry: Registry,
  pools: Record<Name, Sql>,
  sizes: Record<Name, number>,
): void {
  const registers = [registry]
  const waits = new Histogram({
    name: 'svc_database_pool_wait_seconds',
    help: 'Time from the wish for a transaction until it has begun, its wait for a connection included, by pool',
    labelNames: ['pool'],
    buckets,
    registers,
  })
  const all = (Object.entries(pools) as [Name, Sql][]).map(([pool, sql]) => {
    const load: Load = { waiting: 0, open: 0, waited: (seconds) => waits.observe({ pool }, seconds) }
    loads.set(sql, load)
    return [pool, load, sql] as const
  })
  new Gauge({
    name: 'svc_database_transactions',
    help: 'Transactions under way (open), and those that wait for a connection (waiting), by pool',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { open, waiting }] of all) {
        this.set({ pool, state: 'open' }, open)
        this.set({ pool, state: 'waiting' }, waiting)
      }
    },
  })
  new Gauge({
    name: 'svc_database_pool_connections',
    help: 'Connections that a pool may have',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool] of all) this.set({ pool }, sizes[pool])
    },
  })
  const told = new Map<string, number>()
  new Counter({
    name: 'svc_database_pool_refused_total',
    help: 'Requests that were told to come again, as they had waited too long for a connection, by pool',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, , sql] of all) {
        const { refused } = poolRefusals(sql)
        this.inc({ pool }, refused - (told.get(pool) ?? 0))
        told.set(pool, refused)
      }
    },
  })
}

/** Runs a transaction in its turn, told of how it gets on. @param begin its work is handed a function to call when it has its connection */
export async function counted<T>(pool: Sql, begin: (begun: () => void) => Promise<T>): Promise<T> {
  const load = loads.get(pool)
  if (!load) return takeTurn(pool, () => begin(() => undefined))
  const asked = performance.now()
  let has: 'waiting' | 'open' = 'waiting'
  load.waiting++
  try {
    return await takeTurn(pool, () =>
      begin(() => {
        load.waited((performance.now() - asked) / 1_000)
        load.waiting--
        load.open++
        has = 'open'
      }),
    )
  } finally {
    load[has]--
  }
}
