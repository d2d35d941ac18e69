import { afterEach, expect, test, vi } from 'vitest'
import { testDatabase } from '../../test/harness/database.ts'
import { DatabaseClock } from './database-clock.ts'
import { openPool } from './postgres.ts'

const hour = 3_600_000
const database = await testDatabase()
const sql = openPool({ url: database.url, max: 1, name: 'test' })
const told: number[] = []
const looks: number[] = []
const clock = await DatabaseClock.open(sql, {
  failed: (error) => expect(error).toBeUndefined(),
  skewed: (byMs) => told.push(byMs),
  looked: (byMs) => looks.push(byMs),
})
afterEach(() => void vi.useRealTimers())

test.each([hour, -hour])(
  'a clock of the host that is put by %d ms does not move it, and is told of',
  async (by) => {
    const before = clock.now().getTime()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + by })
    expect(Math.abs(clock.now().getTime() - before)).toBeLessThan(60_000)
    const other = await DatabaseClock.open(sql, { failed: () => undefined, skewed: (ms) => told.push(ms) })
    other.close()
    expect(Math.abs((told.pop() ?? 0) - by)).toBeLessThan(60_000)
    expect(Math.abs(other.now().getTime() - before)).toBeLessThan(60_000)
  },
)

test('each look says by how much a clock is off, also where that is of no consequence', () => {
  expect(looks).toHaveLength(1)
  expect(Math.abs(looks[0] ?? Number.NaN)).toBeLessThan(1_000) // they are of one machine
  expect(told).toEqual([])
})

test('it opens on no database that does not answer', async () => {
  clock.close()
  await sql.end()
  await database.drop()
  await expect(
    DatabaseClock.open(sql, { failed: () => undefined, skewed: () => undefined }),
  ).rejects.toThrow()
})
