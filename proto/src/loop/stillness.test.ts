import { expect, test } from 'vitest'
import { blockedWithinMs } from './counts.ts'
import { Stillness } from './stillness.ts'

/** Beats at 100 ms until `to`. */
const goOn = (stillness: Stillness, from: number, to: number) => {
  for (let at = from; at <= to; at += 100) stillness.beat(at)
}

test('a loop that goes on tells nothing, and what is a little late neither', () => {
  const stillness = new Stillness(0)
  expect(stillness.beat(100)).toBe(undefined)
  expect(stillness.beat(699)).toBe(undefined)
  expect(stillness.beat(1_299)).toBe(500)
})

test('five seconds are too long, from the moment that they are over until ten seconds later', () => {
  const stillness = new Stillness(0)
  expect([stillness.blocked(5_099), stillness.blocked(5_100)]).toEqual([false, true])
  expect(stillness.beat(5_200)).toBe(5_100)
  goOn(stillness, 5_300, 5_100 + blockedWithinMs)
  expect(stillness.blocked(5_199 + blockedWithinMs)).toBe(true)
  expect(stillness.blocked(5_200 + blockedWithinMs)).toBe(false)
})

test('one that stands still again and again is as bad, and one that does so now and then is not', () => {
  const often = new Stillness(0)
  for (let at = 1_000; at <= 9_000; at += 1_000) often.beat(at)
  expect(often.blocked(9_000)).toBe(true)
  const seldom = new Stillness(0)
  for (let at = 3_000; at <= 30_000; at += 3_000) {
    seldom.beat(at)
    goOn(seldom, at + 100, at + 1_900)
  }
  expect(seldom.blocked(30_000)).toBe(false)
})
