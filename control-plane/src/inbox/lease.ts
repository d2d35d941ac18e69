import type { Db } from '../kernel/tenancy.ts'

/** The right to work off one shard. `fence` rises with each owner. */
export interface ShardLease {
  shard: number
  owner: string
  fence: number
}

/** Somebody else owns the shard now: what was done for it must not be committed. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  constructor({ shard, owner, fence }: ShardLease) {
    super(`shard ${shard} is no longer ${owner}'s (fence ${fence})`)
  }
}

/**
 * First statement of each batch's transaction; the batch's own travel with it, and are taken back when it throws. A key-share lock lets the owner renew meanwhile, and makes a new owner, who locks the
 * row for update, wait for this transaction's end. @throws LeaseLost
 */
export async function holdLease(db: Db, lease: ShardLease): Promise<void> {
  const held = await db.one<object>`
    select l.shard from shard_leases l
    where l.shard = ${lease.shard}::smallint and l.owner = ${lease.owner} and l.fence = ${lease.fence}::bigint
    for key share`
  if (!held) throw new LeaseLost(lease)
}

export interface LeaseTimes {
  workerLeaseMs: number
}

/** Announces the worker and extends what it owns. Returns the shards that are still its own. */
export async function renew(db: Db, owner: string, { workerLeaseMs }: LeaseTimes): Promise<Set<number>> {
  const until = db.sql`now() + make_interval(secs => ${workerLeaseMs / 1000}::float8)`
  await db.run`
    insert into workers (worker, lease_until) values (${owner}, ${until})
    on conflict (worker) do update set lease_until = excluded.lease_until`
  await db.run`delete from workers where lease_until < now() - interval '1 hour'`
  const rows = await db.rows<{ shard: number }>`
    update shard_leases set lease_until = ${until} where owner = ${owner} and lease_until > now() returning shard`
  return new Set(rows.map((row) => row.shard))
}

/** How many shards are this worker's due: all live workers get the same, the first ones by name one more where it does not divide. */
export async function fairShare(db: Db, owner: string): Promise<number> {
  const workers = await db.rows<{
    worker: string
  }>`select worker from workers where lease_until > now() order by worker`
  const shards = await db.rows<{ shard: number }>`select shard from shard_leases`
  return shareOf(
    shards.length,
    workers.map((row) => row.worker),
    owner,
  )
}

/** The share of `owner` among `workers` (sorted) of so many shards. */
export function shareOf(shards: number, workers: readonly string[], owner: string): number {
  const place = workers.indexOf(owner)
  if (place < 0) return 0
  return Math.floor(shards / workers.length) + (place < shards % workers.length ? 1 : 0)
}

/** Takes up to `count` shards that nobody holds. Waits for no one: a shard whose last batch is still committing is passed over. */
export async function take(
  db: Db,
  owner: string,
  count: number,
  { workerLeaseMs }: LeaseTimes,
): Promise<ShardLease[]> {
  if (count <= 0) return []
  const rows = await db.rows<{ shard: number; fence: number }>`
    with free as (
      select shard from shard_leases where owner is null or lease_until < now()
      order by shard limit ${count} for update skip locked)
    update shard_leases l set owner = ${owner}, fence = l.fence + 1,
      lease_until = now() + make_interval(secs => ${workerLeaseMs / 1000}::float8)
    from free where l.shard = free.shard returning l.shard, l.fence`
  return rows.map((row) => ({ owner, ...row }))
}

/** Gives shards back, for whoever is due them. */
export async function release(db: Db, owner: string, shards: readonly number[]): Promise<void> {
  if (shards.length === 0) return
  await db.run`
    update shard_leases set owner = null, lease_until = '-infinity'
    where owner = ${owner} and shard = any(${`{${shards.join(',')}}`}::smallint[])`
}

/** The worker goes: it no longer counts when shards are shared out. */
export async function leave(db: Db, owner: string): Promise<void> {
  await db.run`update shard_leases set owner = null, lease_until = '-infinity' where owner = ${owner}`
  await db.run`delete from workers where worker = ${owner}`
}
