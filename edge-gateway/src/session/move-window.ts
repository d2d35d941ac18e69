import type { Limits } from '../ops/limits.ts'

/** How long a draining gateway gives so many devices to move, in milliseconds: as fast as others can take them, within bounds. */
export function moveWindowMs(devices: number, limits: Limits): number {
  const { minMoveWindowMs, maxMoveWindowMs, movesPerSecond } = limits
  const fair = (devices / movesPerSecond) * 1000
  return Math.round(Math.min(maxMoveWindowMs, Math.max(minMoveWindowMs, fair)))
}
