import { expect, test } from 'vitest'
import { testApp } from '../harness/app.ts'
import { play } from './privilege/game.ts'

const t = await testApp()

test('whatever people do to roles and to each other, nobody gains or loses what its maker did not hold', async () => {
  const score = await play(t, 20_261_128, 600)
  expect(score.violations).toEqual([])
  // A game in which everything is refused, or nothing, would show nothing.
  expect(score.requests).toBe(600)
  expect(score.ceilings).toBeGreaterThan(50)
  for (const move of ['create', 'give', 'reparent', 'clone', 'assign', 'invite']) {
    expect([move, score.accepted[move] ?? 0]).toEqual([move, expect.toSatisfy((n: number) => n >= 5)])
  }
}, 120_000)
