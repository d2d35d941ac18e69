import { expect, it } from 'vitest'
import { rounds } from './rounds.ts'

it('tries each once before any twice, and none twice in a row', () => {
  for (let run = 0; run < 200; run++) {
    const next = rounds(['a', 'b', 'c'], Math.random)
    const tried = Array.from({ length: 12 }, () => next())
    for (let at = 0; at < 12; at += 3)
      expect(new Set(tried.slice(at, at + 3))).toEqual(new Set(['a', 'b', 'c']))
    for (let at = 1; at < 12; at++) expect(tried[at]).not.toBe(tried[at - 1])
  }
})

it('begins with any of them, so that a fleet spreads', () => {
  const first = new Set(Array.from({ length: 200 }, () => rounds(['a', 'b', 'c'], Math.random)()))
  expect(first).toEqual(new Set(['a', 'b', 'c']))
})

it('has no choice with one, and none with none', () => {
  const one = rounds(['a'], Math.random)
  expect([one(), one()]).toEqual(['a', 'a'])
  expect(rounds([], Math.random)()).toBeUndefined()
})
