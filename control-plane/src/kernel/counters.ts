import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import type { Sql } from 'postgres'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Clock } from '../adapters/clock.ts'
import { subscriber } from './address.ts'
import {
  type Count,
  type Limit,
  type LimitName,
  type Limits,
  limits,
  rateLimited,
  type Subject,
} from './limits.ts'

interface Counter {
  add(name: LimitName, subject: Buffer, points: number): Promise<Count>
  read(name: LimitName, subject: Buffer): Promise<Count>
  forget(name: LimitName, subject: Buffer): Promise<void>
}

const normal: Record<keyof Subject, (value: string) => string> = {
  ip: subscriber,
  email: (email) => email.trim().normalize('NFKC').toLowerCase(),
  user: (id) => id,
  token: (token) => token,
  phone: (phone) => phone,
  key: (id) => id,
}

/** SHA-256 of the limit and the parts it counts by: no address or e-mail is kept. */
function key(name: LimitName, subject: Subject): Buffer {
  const parts = limits[name].per.map((part) => {
    const value = subject[part]
    if (value === undefined) throw new Error(`limit ${name} counts by ${part}, which is not given`)
    return normal[part](value)
  })
  return createHash('sha256')
    .update(JSON.stringify([name, ...parts]))
    .digest()
}

/** What guards secrets: counted in Postgres, across all processes, whatever becomes of Redis. */
function postgresCounter(sql: Sql, clock: Clock): Counter {
  const count = (row: Count | undefined): Count => row ?? { hits: 0, msLeft: 0 }
  return {
    async add(name, subject, points) {
      const now = clock.now()
      const resets = new Date(now.getTime() + limits[name].seconds * 1_000)
      const [row] = await sql<Count[]>`
        insert into rate_limits as r (bucket, subject, hits, resets_at) values (${name}, ${subject}, ${Math.max(points, 0)}, ${resets})
        on conflict (bucket, subject) do update set
          hits = case when r.resets_at <= ${now} then excluded.hits else greatest(r.hits + ${points}::int, 0) end,
          resets_at = case when r.resets_at <= ${now} then excluded.resets_at else r.resets_at end
        returning hits, (extract(epoch from resets_at - ${now}) * 1000)::float8 as ms_left`
      return count(row)
    },
    async read(name, subject) {
      const now = clock.now()
      const [row] = await sql<Count[]>`
        select hits, (extract(epoch from resets_at - ${now}) * 1000)::float8 as ms_left from rate_limits
        where bucket = ${name} and subject = ${subject} and resets_at > ${now}`
      return count(row)
    },
    forget: async (name, subject) => {
      await sql`delete from rate_limits where bucket = ${name} and subject = ${subject}`
    },
  }
}

/** The rest counts in Redis; with Redis away, or none, each process counts for itself. @param insured false: it does not */
function redisCounter(redis: Redis | undefined, insured: boolean): Counter {
  const made = new Map<LimitName, RateLimiterMemory | RateLimiterRedis>()
  const limiter = (name: LimitName) => {
    const known = made.get(name)
    if (known) return known
    const { points, seconds }: Limit = limits[name]
    const options = { keyPrefix: `limit:${name}`, points, duration: seconds }
    const local = new RateLimiterMemory(options)
    const fresh = redis
      ? new RateLimiterRedis({ ...options, storeClient: redis, ...(insured && { insuranceLimiter: local }) })
      : local
    made.set(name, fresh)
    return fresh
  }
  const count = (result: RateLimiterRes | null): Count => ({
    hits: result?.consumedPoints ?? 0,
    msLeft: result?.msBeforeNext ?? 0,
  })
  return {
    async add(name, subject, points) {
      const text = subject.toString('base64url')
      const counted = limiter(name)
      try {
        return count(points > 0 ? await counted.consume(text, points) : await counted.reward(text, -points))
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return count(refused)
        throw refused
      }
    },
    read: async (name, subject) => count(await limiter(name).get(subject.toString('base64url'))),
    forget: async (name, subject) => {
      await limiter(name).delete(subject.toString('base64url'))
    },
  }
}

/**
 * @param sql a pool of svc_app of its own: a count made inside somebody's transaction must not wait for that pool
 * @param insured false takes away what counts while Redis is away
 */
export function limitsOf(sql: Sql, redis: Redis | undefined, clock: Clock, insured = true): Limits {
  const stores = { postgres: postgresCounter(sql, clock), redis: redisCounter(redis, insured) }
  const store = (name: LimitName) => stores[limits[name].store]
  return {
    count: (name, subject) => store(name).add(name, key(name, subject), 1),
    async hit(name, subject) {
      const { hits, msLeft } = await store(name).add(name, key(name, subject), 1)
      if (hits > limits[name].points) throw rateLimited(name, msLeft)
    },
    async check(name, subject) {
      const { hits, msLeft } = await store(name).read(name, key(name, subject))
      if (hits >= limits[name].points) throw rateLimited(name, msLeft)
    },
    async refund(name, subject) {
      await store(name).add(name, key(name, subject), -1)
    },
    reset: (name, subject) => store(name).forget(name, key(name, subject)),
  }
}
