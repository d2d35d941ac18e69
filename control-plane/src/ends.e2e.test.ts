import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, afterEach, expect, onTestFinished, test } from 'vitest'
import { databaseForFile } from '../test/harness/database.ts'
import { startRedis } from '../../tools/services.ts'
import { type Program, startProgram } from '../test/harness/program.ts'
import { countingWire } from '../test/harness/wire.ts'

const database = await databaseForFile()
const folder = mkdtempSync(join(tmpdir(), 'svc-ends-'))
const own = 'test of ends'
const sql = postgres(database.url, {
  max: 2,
  onnotice: () => undefined,
  connection: { application_name: own },
})
afterAll(async () => {
  await sql.end()
  rmSync(folder, { recursive: true })
})

const programs: Program[] = []
afterEach(() => {
  for (const program of programs.splice(0)) program.kill('SIGKILL')
})

const key = randomBytes(32).toString('hex')
const start = (more: Record<string, string> = {}) => {
  const program = startProgram({
    DATABASE_URL: database.url,
    KEYS_DIR: join(folder, 'keys'),
    EDGE_SHARED_KEY: key,
    PORT: '0',
    INTERNAL_PORT: '0',
    METRICS_PORT: '0',
    DRAIN_MS: '500',
    WORKER_LEASE_MS: '2000',
    WORKER_RENEW_MS: '500',
    ...more,
  })
  programs.push(program)
  return program
}

const patience = { timeout: 40_000, interval: 50 }
/** Statements of others on this database that wait for such a lock. */
const waiting = async (of: string) =>
  (
    await sql`
      select from pg_locks l left join pg_class c on c.oid = l.relation
      where not l.granted and ${of}::text in (l.locktype, c.relname::text)
        and l.database = (select oid from pg_database where datname = current_database())`
  ).length
/** Sessions of others on this database. */
const sessions = async () =>
  (await sql`select from pg_stat_activity where datname = current_database() and application_name <> ${own}`)
    .length
/** Shards by whether somebody holds them. */
const held = async () =>
  (await sql`select from svc.shard_leases where owner is not null and lease_until > now()`).length
const shards = 16
const workers = async () => (await sql`select from svc.workers where lease_until > now()`).length

/** One that is up, and has all the work that there is. */
const working = async (more?: Record<string, string>) => {
  const program = start(more)
  await program.isUp
  await expect.poll(held, patience).toBe(shards)
  return program
}

/** Holds a lock until what is done under it is over. */
const under = (lock: 'advisory' | 'workers', work: () => Promise<void>) =>
  sql.begin(async (tx) => {
    if (lock === 'advisory') await tx`select pg_advisory_xact_lock(7270010)`
    else await tx`lock table svc.workers in access exclusive mode`
    await work()
  })

const nothingLeft = async () => {
  await expect.poll(sessions, patience).toBe(0)
  expect([await held(), await workers()]).toEqual([0, 0])
}

test('told to end before its database answers, it ends at once', async () => {
  const wire = await countingWire(database.url)
  wire.hush()
  const program = start({ DATABASE_URL: wire.url })
  await expect.poll(wire.connections, patience).toBeGreaterThan(0)
  program.kill()
  expect(await program.ended).toEqual({ code: 143, err: '' })
  wire.close()
})

test('told to end while somebody else migrates, it ends at once and leaves no lock behind', async () => {
  await under('advisory', async () => {
    const program = start()
    await expect.poll(() => waiting('advisory'), patience).toBe(1)
    program.kill()
    expect(await program.ended).toEqual({ code: 143, err: '' })
  })
  await nothingLeft()
})

test('told to end before it works, it closes what it had opened', async () => {
  const program = start()
  await under('workers', async () => {
    await expect.poll(() => waiting('workers'), patience).toBeGreaterThan(0)
    program.kill()
    expect(await program.ended).toEqual({ code: 0, err: '' })
  })
  await nothingLeft()
})

test('told to end while its database hangs, it is gone soon; another has its work when the lease is over', async () => {
  const wire = await countingWire(database.url)
  const program = await working({ DATABASE_URL: wire.url })
  wire.hush()
  program.kill()
  expect(await program.ended).toEqual({ code: 0, err: '' })
  wire.close()
  const next = await working()
  await expect.poll(workers, patience).toBe(1)
  // Told to end right after: what it had just taken is free again.
  next.kill()
  expect(await next.ended).toEqual({ code: 0, err: '' })
  await nothingLeft()
})

test('told to end while its database hangs under requests, it answers all of them and is gone', async () => {
  const wire = await countingWire(database.url)
  // It goes on listening while load balancers hear that it ends.
  const program = await working({
    DATABASE_URL: wire.url,
    DATABASE_POOL: '4',
    DRAIN_DELAY_MS: '1000',
    DRAIN_MS: '15000',
  })
  const { apiUrl } = await program.isUp
  wire.hush()
  const before = wire.trips()
  // More than it has connections.
  const asked = Array.from({ length: 8 }, async (_, n) => {
    const body = JSON.stringify({ email: `nobody${n}@example.com`, password: 'not their password' })
    const headers = { 'content-type': 'application/json' }
    const { status } = await fetch(`${apiUrl}/api/v1/auth/login`, { method: 'POST', headers, body })
    return status
  })
  await expect.poll(wire.trips, patience).toBeGreaterThan(before)
  program.kill()
  expect(await Promise.all(asked)).toEqual(asked.map(() => 503))
  expect(await program.ended).toEqual({ code: 0, err: '' })
  wire.close()
})

test('told to end while its Redis hangs, it is gone soon and leaves nothing behind', async () => {
  const redis = await startRedis({ dir: join(folder, 'redis') })
  onTestFinished(redis.kill)
  const program = await working({ REDIS_URL: redis.url })
  process.kill(redis.pid, 'SIGSTOP')
  program.kill()
  expect(await program.ended).toEqual({ code: 0, err: '' })
  await nothingLeft()
})

test('without that patience it waits for good, and is ended by force, with a line that says so', async () => {
  const wire = await countingWire(database.url)
  const program = await working({
    DATABASE_URL: wire.url,
    NODE_ENV: 'test',
    SVC_TEST_WITHOUT: 'patience',
    SVC_TEST_LIMITS: 'exitWithinMs=1500',
  })
  wire.hush()
  program.kill()
  expect(await program.ended).toEqual({
    code: 1,
    err: 'it was told to end, and has not within 1500 ms: it is ended',
  })
  wire.close()
})
