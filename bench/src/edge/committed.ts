import { setTimeout as pause } from 'node:timers/promises'
import { connection, names, shardCount } from '@svc/proto/bus'
import type { Sql } from 'postgres'
import type { Ground } from '../method/contract.ts'

const patienceMs = 60_000
const lookEveryMs = 100

/** Polls until it holds. Throws, saying for what it waited. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + patienceMs; !(await holds()); await pause(lookEveryMs))
    if (performance.now() > end) throw new Error(`waited ${patienceMs / 1000} s in vain until ${what}`)
}

/** Resolves when the workers have taken all that gateways have handed up: they trim what they have committed. */
export function watchStreams(ground: Ground, redisUrl: string): () => Promise<void> {
  const redis = connection(redisUrl, { enableOfflineQueue: true })
  ground.afterwards(() => redis.disconnect())
  const waiting = async () => {
    const shards = Array.from({ length: shardCount }, (_, shard) => redis.xlen(names.up(shard)))
    return (await Promise.all(shards)).reduce((sum, length) => sum + length, 0)
  }
  return () => until('the up-streams are empty', async () => (await waiting()) === 0)
}

export interface Updates {
  all: number
  hot: number
}

/** Updates of the table that heartbeats are written to, so far. */
export async function updatesOf(sql: Sql): Promise<Updates> {
  await sql`select pg_stat_force_next_flush(), pg_stat_clear_snapshot()`
  const [row] = await sql<Updates[]>`
    select n_tup_upd as all, n_tup_hot_upd as hot from pg_stat_user_tables where relname = 'device_presence'`
  if (!row) throw new Error('Postgres counts no updates of device_presence')
  return row
}

/** Updates since then, once at least `count` of them are counted: sessions hand in their counts when they find time. */
export async function updatesSince(sql: Sql, before: Updates, count: number): Promise<Updates> {
  let all = 0
  let hot = 0
  await until(`${count} updates are counted`, async () => {
    const now = await updatesOf(sql)
    all = now.all - before.all
    hot = now.hot - before.hot
    return all >= count
  })
  return { all, hot }
}

/**
 * How long after the gateway heard from a device its row was committed, at the 99th percentile, ms. Throws unless every device has
 * been heard from since then: a lost heartbeat must not pass for a fast one.
 */
export async function stalenessP99(sql: Sql, deviceIds: readonly string[], since: Date): Promise<number> {
  const [row] = await sql<{ heard: number; p99: number }[]>`
    select count(*) as heard, percentile_cont(0.99) within group
      (order by extract(epoch from pg_xact_commit_timestamp(xmin) - last_seen_at)::float8 * 1000) as p99
    from device_presence where device_id = any(${[...deviceIds]}::uuid[]) and last_seen_at >= ${since}`
  if (row?.heard !== deviceIds.length)
    throw new Error(
      `the rows of ${row?.heard ?? 0} of ${deviceIds.length} devices say that they were heard from`,
    )
  return row.p99
}
