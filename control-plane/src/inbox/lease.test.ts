import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shareOf } from './lease.ts'

test('all shares together are all shards, and no two differ by more than one', () => {
  const anyWorkers = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(anyWorkers, (names) => {
      const workers = names.sort()
      const shares = workers.map((worker) => shareOf(16, workers, worker))
      expect(shares.reduce((sum, share) => sum + share)).toBe(16)
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
    }),
  )
})

test('who is not counted among the living has no share', () => {
  expect(shareOf(16, ['a'], 'b')).toBe(0)
})
