import type { TestModule } from 'vitest/node'
import { expect, test } from 'vitest'
import { count, tally } from './tally.ts'

test('skipped tests are told only when there are some', () => {
  expect(tally(3, 0, 0)).toBe('3 passed, 0 failed')
  expect(tally(3, 1, 2)).toBe('3 passed, 1 failed, 2 skipped')
})

test('what breaks outside of a test counts as a failure', () => {
  const states = ['passed', 'passed', 'failed', 'skipped', 'pending']
  const module = (errors: unknown[], suiteErrors: unknown[]) => ({
    errors: () => errors,
    children: {
      allSuites: () => [{ errors: () => suiteErrors }],
      allTests: () => states.map((state) => ({ result: () => ({ state }) })),
    },
  })
  const modules = [module([], []), module(['import failed'], ['hook failed'])] as unknown as TestModule[]
  expect(count(modules, 1)).toEqual({ passed: 4, failed: 5, skipped: 4 })
})
