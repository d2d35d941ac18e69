import { expect, it } from 'vitest'
import { type Blow, churn, mishaps } from './churn.ts'

const take = (count: number, rate: Parameters<typeof churn>[0]): Blow[] => {
  const blows = churn(rate)
  return Array.from({ length: count }, () => blows.next().value)
}

it('the same seed brings the same blows, another one others', () => {
  const rate = { agents: 50, perMinute: 10, seed: 7 }
  expect(take(100, rate)).toEqual(take(100, rate))
  expect(take(100, { ...rate, seed: 8 })).not.toEqual(take(100, rate))
})

it('comes at the rate asked for, irregularly, to all devices and in every way', () => {
  const blows = take(6_000, { agents: 200, perMinute: 30, seed: 1 })
  const overallMs = blows.reduce((sum, { afterMs }) => sum + afterMs, 0)
  expect(overallMs / 60_000).toBeGreaterThan(95) // 60 a minute: 100 minutes
  expect(overallMs / 60_000).toBeLessThan(105)
  // Of a Poisson process 37 % of the gaps are longer than the mean, and 5 % than three times that.
  expect(blows.filter(({ afterMs }) => afterMs > 1_000).length / 6_000).toBeCloseTo(Math.exp(-1), 1)
  expect(blows.filter(({ afterMs }) => afterMs > 3_000).length / 6_000).toBeCloseTo(Math.exp(-3), 1)
  expect(new Set(blows.map(({ number }) => number)).size).toBe(200)
  expect(Math.min(...blows.map(({ number }) => number))).toBe(1)
  expect(Math.max(...blows.map(({ number }) => number))).toBe(200)
  for (const mishap of mishaps)
    expect(blows.filter((one) => one.mishap === mishap).length).toBeGreaterThan(1_800)
  for (const { awayMs } of blows) expect(awayMs).toBeGreaterThanOrEqual(100)
})
