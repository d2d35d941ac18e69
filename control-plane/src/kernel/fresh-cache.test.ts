import { afterEach, expect, test, vi } from 'vitest'
import { FreshCache, maxAgeMs } from './fresh-cache.ts'

afterEach(() => vi.useRealTimers())

/** Answers how often it was asked. */
function counting() {
  let asked = 0
  const cache = new FreshCache<number>({ keepAbsent: true })
  return (notBefore?: number) => cache.find('key', async () => ++asked, notBefore)
}

test('an answer is good for two seconds', async () => {
  vi.useFakeTimers()
  const find = counting()
  expect(await find()).toBe(1)
  vi.advanceTimersByTime(maxAgeMs)
  expect(await find()).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await find()).toBe(2)
})

test.each([-3_600_000, 3_600_000])('and no longer when the clock is put by %d ms', async (by) => {
  vi.useFakeTimers()
  const find = counting()
  expect(await find()).toBe(1)
  vi.setSystemTime(Date.now() + by)
  expect(await find()).toBe(1)
  vi.advanceTimersByTime(maxAgeMs + 1)
  expect(await find()).toBe(2)
})

test('what was asked for before a moment does not do for who says so', async () => {
  vi.useFakeTimers()
  const find = counting()
  await find()
  expect(await find(Date.now())).toBe(1)
  expect(await find(Date.now() + 1)).toBe(2)
})
