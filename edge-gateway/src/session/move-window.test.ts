import { expect, test } from 'vitest'
import { limits } from '../ops/limits.ts'
import { moveWindowMs } from './move-window.ts'

const bounds = { ...limits, minMoveWindowMs: 1_000, maxMoveWindowMs: 60_000, movesPerSecond: 500 }

test.each([
  ['nobody', 0, 1_000],
  ['a few', 100, 1_000],
  ['so many that they need longer', 5_001, 10_002],
  ['more than can be waited for', 100_000, 60_000],
])('%s get a window that fits them', (_name, devices, window) => {
  expect(moveWindowMs(devices, bounds)).toBe(window)
})
