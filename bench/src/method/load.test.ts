import { expect, it } from 'vitest'
import { noiseOf, watchOthers } from './load.ts'
import { Rounds } from './rounds.ts'

const quiet = { loadAtStart: 0.1, clientBusy: 0.4, others: 0.02 }

it('finds nothing wrong with a quiet machine', () => {
  expect(noiseOf(quiet)).toEqual([])
})

it.each([
  [{ loadAtStart: 0.31 }, 'the machine was busy before the start (load 0.31)'],
  [{ clientBusy: 0.86 }, "the load client's core was busy (86 %)"],
  [{ others: 0.5 }, 'other processes worked (50 % of a core)'],
])('says what disturbed it: %o', (more, why) => {
  expect(noiseOf({ ...quiet, ...more })).toEqual([why])
})

it('keeps with each round what disturbed it, and tells each reason once with the worst of it', () => {
  const rounds = new Rounds()
  rounds.saw('ours', 1, { cost: 1 }, 0.9)
  rounds.saw('ours', 2, { cost: 1 }, 1)
  rounds.saw('ours', 3, { cost: 1 }, 0)
  const about = (reasons: string[]) => reasons.filter((reason) => reason.startsWith("the load client's core"))
  expect(rounds.rounds.map(({ noisy }) => about(noisy).length)).toEqual([1, 1, 0])
  expect(about(rounds.noisy())).toEqual(["the load client's core was busy (100 %), in 2 of 3 rounds"])
})

it('takes no round whose figure is no number', () => {
  expect(() => new Rounds().saw('ours', 1, { cost: Number.NaN }, 0)).toThrow('ours: cost is NaN')
})

it('gives sides that are seen together the same answer: between two of them a tick is not a busy core', () => {
  let [ms, micros] = [0, 0]
  const others = watchOthers(
    () => micros,
    () => ms,
  )
  ;[ms, micros] = [10_000, 1_000_000]
  expect(others()).toBe(0.1)
  ;[ms, micros] = [10_001, 1_010_000]
  expect(others()).toBe(0.1)
  ;[ms, micros] = [20_000, 6_000_000]
  expect(others()).toBeCloseTo(0.5)
})
