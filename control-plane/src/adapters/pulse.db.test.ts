import { afterAll, expect, test } from 'vitest'
import { databaseForFile } from '../../test/harness/database.ts'
import { mutableWire } from '../../test/harness/mutable-wire.ts'
import { Line } from './line.ts'
import { openPool } from './postgres.ts'
import { Pulse } from './pulse.ts'

const { url } = await databaseForFile()
const wire = await mutableWire(url)
const line = new Line()
const probe = openPool({ url: wire.url, max: 1, name: 'probe', line, probing: true })
const pool = openPool({ url: wire.url, max: 3, name: 'pool', line })
const told: boolean[] = []
const pulse = new Pulse({ line, probe, changed: (away) => told.push(away) })
afterAll(async () => {
  await pulse.close()
  wire.mute(false)
  await Promise.all([probe, pool].map((each) => each.end({ timeout: 1 })))
  wire.close()
})
const failure = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    ({ code }: { code: string }) => code,
  )

test('statements that take longer than it waits for a sign of life are no silence', async () => {
  expect(await failure(Promise.all([1, 2].map(() => pool`select pg_sleep(2.5)`)))).toBe('none')
  expect(told).toEqual([])
})

test('who waits for a server that fell silent is told, new connections are refused, and all is well once it is back', async () => {
  const waiting = [failure(pool`select pg_sleep(0.3)`), failure(pool.begin((tx) => tx`select pg_sleep(0.3)`))]
  await expect.poll(() => wire.connections()).toBeGreaterThan(1)
  wire.mute(true)
  expect(await Promise.all(waiting)).toEqual(['CONNECTION_CLOSED', 'CONNECTION_CLOSED'])
  expect(told).toEqual([true])
  expect(await failure(pool`select 1`)).toBe('DATABASE_AWAY')
  wire.mute(false)
  await expect.poll(() => told, { timeout: 20_000 }).toEqual([true, false])
  // Every place in the pool works again.
  expect(await failure(Promise.all([1, 2, 3, 4].map(() => pool`select pg_sleep(0.1)`)))).toBe('none')
})

test('one that was away and answers late is back all the same', async () => {
  told.length = 0
  wire.mute(true)
  await expect.poll(() => told, { timeout: 20_000 }).toEqual([true])
  wire.slow(1_200)
  wire.mute(false)
  await expect.poll(() => told, { timeout: 25_000 }).toEqual([true, false])
  wire.slow(0)
})
