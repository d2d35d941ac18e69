import { expect, it } from 'vitest'
import { randomFrom } from './random.ts'
import { autocorrelation, counted } from './series.ts'

const random = randomFrom(7)
const periods = 6
const perPeriod = 100

/** Beats of 5,000 over some periods of length 1. @param first when each begins @param next from one to the next */
const beats = (first: () => number, next: () => number): number[] =>
  Array.from({ length: 5_000 }, () => {
    const own: number[] = []
    for (let at = first(); at < periods; at += next()) own.push(at)
    return own
  }).flat()
const atOnePeriod = (moments: readonly number[]) =>
  autocorrelation(counted(moments, 0, 1 / perPeriod, periods * perPeriod), perPeriod)

it('counts moments by bucket, and leaves out what is before and after', () => {
  expect(counted([9, 10, 14, 15, 39, 40], 10, 5, 6)).toEqual([2, 1, 0, 0, 0, 1])
})

it('knows a series that repeats, one that alternates, and one that never changes', () => {
  const turns = Array.from({ length: 1_000 }, (_, at) => at % 2)
  expect(autocorrelation(turns, 2)).toBeCloseTo(1, 2)
  expect(autocorrelation(turns, 1)).toBeCloseTo(-1, 2)
  expect(autocorrelation([3, 3, 3], 1)).toBeNaN()
})

it('is above 0.8 for a fleet that beats together', () => {
  const together = beats(
    () => 0.3 + random() * 0.1,
    () => 1,
  )
  expect(atOnePeriod(together)).toBeGreaterThan(0.8)
})

it('is above 0.8 also where they began at any time, if each keeps its beat: what is uneven by chance stays so', () => {
  expect(atOnePeriod(beats(random, () => 1))).toBeGreaterThan(0.8)
})

it('is below 0.2 for a fleet of which each interval is drawn', () => {
  const drawn = () => 0.8 + random() * 0.4
  expect(atOnePeriod(beats(random, drawn))).toBeLessThan(0.2)
})
