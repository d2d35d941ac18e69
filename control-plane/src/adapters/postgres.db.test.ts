import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { databaseForFile } from '../../test/harness/database.ts'
import { type Database, openPool } from './postgres.ts'

const { url } = await databaseForFile()
const killer = openPool({ url, max: 1, name: 'killer' })
await killer`create table public.lost (who text)`
/** One connection, so that each test is about what becomes of that one. */
const one = openPool({ url, max: 1, name: 'victim' })
const several = openPool({ url, max: 4, name: 'victim' })
afterAll(() => Promise.all([killer, one, several].map((pool) => pool.end({ timeout: 1 }))))
beforeEach(() => killer`truncate public.lost`)

const kill = () => killer`
  select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim' and datname = current_database()`

/** Until the server runs a victim's statement, or has its transaction open. */
const isAt = (state: 'active' | 'idle in transaction') =>
  expect
    .poll(
      () => killer`
        select from pg_stat_activity
        where application_name = 'victim' and datname = current_database() and state = ${state}`,
    )
    .not.toHaveLength(0)

/** As requests do: a few statements, some at once. */
const request = (pool: Database) =>
  pool.begin(async (tx) => {
    await tx`select 1`
    await Promise.all([tx`select 2`, tx`select pg_sleep(0.005)`])
    return tx`select 3`
  })

test('connections that are lost under load end their requests and nothing else', async () => {
  const failures: unknown[] = []
  const until = performance.now() + 1_500
  const client = async () => {
    while (performance.now() < until) await request(several).catch((error: unknown) => failures.push(error))
  }
  const clients = Array.from({ length: 8 }, client)
  // The clients outlive the last kill: what they find dead, nobody finds after them.
  while (performance.now() < until - 500) {
    await sleep(150)
    await kill()
  }
  await Promise.all(clients)
  expect(failures.length).toBeGreaterThan(0)
  // Every place in the pool works again.
  const after = await Promise.allSettled(Array.from({ length: 16 }, () => request(several)))
  expect(after.filter(({ status }) => status === 'rejected')).toEqual([])
})

test('a connection that is lost while it is being made is told to who waits for it, and to nobody else', async () => {
  const told: unknown[] = []
  const listen = (error: unknown) => told.push(error)
  process.on('unhandledRejection', listen)
  for (let round = 0; round < 30; round++) {
    const pool = openPool({ url, max: 8, name: 'victim' })
    const asked = Promise.allSettled(Array.from({ length: 8 }, () => pool`select 1`))
    for (let i = 0; i < 8; i++) await kill()
    await asked
    await pool.end({ timeout: 1 })
  }
  process.off('unhandledRejection', listen)
  expect(told).toEqual([])
})

test('a query after the loss does not fail with the error of the one before', async () => {
  for (let round = 0; round < 5; round++) {
    const lost = one`select pg_sleep(10)`.catch((error: unknown) => error)
    await isAt('active')
    await kill()
    expect(await lost).toBeInstanceOf(Error)
    expect(await one`select 1 as x`).toEqual([{ x: 1 }])
  }
})

test('what a transaction still says after the loss is refused, and does not get into the one that has its connection now', async () => {
  let go = () => {}
  const other = new Promise<void>((resolve) => {
    go = resolve
  })
  const said: unknown[] = []
  const dead = one.begin(async (tx) => {
    await tx`insert into public.lost values ('dead: before')`
    await other
    said.push(await tx`insert into public.lost values ('dead: after')`.catch((error: unknown) => error))
  })
  const how = dead.catch((error: unknown) => error)
  await isAt('idle in transaction')
  await kill()
  await how
  await one.begin(async (tx) => {
    await tx`insert into public.lost values ('living: first')`
    go()
    await sleep(50)
    await tx`insert into public.lost values ('living: second')`
  })
  expect(said).toEqual([expect.objectContaining({ code: 'CONNECTION_CLOSED' })])
  expect(await how).toBeInstanceOf(Error)
  expect((await killer`select who from public.lost order by who`).map(({ who }) => who as string)).toEqual([
    'living: first',
    'living: second',
  ])
})

test('a transaction has its connection to itself, however many queries are on their way', async () => {
  // A driver sends up to a hundred queries ahead of their answers; the boundary is where it lost its place.
  for (let ahead = 96; ahead <= 104; ahead++) {
    const queries = Array.from({ length: ahead }, () =>
      one`select txid_current_if_assigned() as x`.then(([row]) => row?.['x']),
    )
    const inside = one.begin(async (tx) => {
      await tx`insert into public.lost values ('inside')`
      return (await tx`select txid_current() as x`)[0]?.['x']
    })
    const outside = Array.from({ length: 20 }, () =>
      one`select txid_current_if_assigned() as x`.then(([row]) => row?.['x']),
    )
    const seen = await Promise.all([...queries, ...outside])
    expect(seen).not.toContain(await inside)
    expect(seen.every((x) => x === null)).toBe(true)
  }
  const [row] = await killer<{ open: number }[]>`
    select count(*)::int as open from pg_stat_activity
    where application_name = 'victim' and datname = current_database() and state like 'idle in transaction%'`
  expect(row?.open).toBe(0)
})

test('a transaction whose BEGIN is refused says nothing more, and leaves its connection to the next', async () => {
  const said: unknown[] = []
  const refused = one.begin('no such thing', async (tx) => {
    await tx`select 1`.catch((error: unknown) => error)
    said.push(await tx`insert into public.lost values ('never begun')`.catch((error: unknown) => error))
  })
  await expect(refused).rejects.toMatchObject({ code: '42601' })
  expect(said).toEqual([expect.objectContaining({ code: '42601' })])
  expect(await killer`select who from public.lost`).toEqual([])
  expect(await one.begin((tx) => tx`select 1 as x`)).toEqual([{ x: 1 }])
})

test('a time that is none fails its statement, and costs nobody the connection', async () => {
  const pid = async () => (await one<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid
  const before = await pid()
  const wrong = one.begin((tx) => tx`select ${new Date(Number.NaN)}::timestamptz`)
  await expect(wrong).rejects.toMatchObject({ code: '22007' })
  expect(await pid()).toBe(before)
})
