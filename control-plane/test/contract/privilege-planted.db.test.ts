import { expect, test, vi } from 'vitest'
import { testApp } from '../harness/app.ts'
import { play } from './privilege/game.ts'

// The fault that the game is there to find: no ceiling at all.
vi.mock('../../src/kernel/ceiling.ts', () => ({ requireWithin: () => undefined }))

test('without the ceiling the same game finds who gained what its maker did not hold', async () => {
  const score = await play(await testApp(), 20_261_128, 60)
  expect(score.violations.length).toBeGreaterThan(3)
  expect(score.ceilings).toBe(0)
}, 60_000)
