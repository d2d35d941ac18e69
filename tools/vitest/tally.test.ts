import type { TestModule } from 'vitest/node'
import { describe, expect, test } from 'vitest'
import { tally } from '../tally.mjs'
import { StandingFault } from './standing-fault.ts'
import { count, doubtful } from './tally.ts'

test('skipped tests are told only when there are some', () => {
  expect(tally({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed')
  expect(tally({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped')
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

describe('what is judged again, alone', () => {
  interface Given {
    project?: string
    error?: Error
    hookErrors?: unknown[]
  }
  const module = ({ project = 'e2e', error = new Error('late'), hookErrors = [] }: Given) => {
    const tests = [
      { fullName: 'holds', result: () => ({ state: 'passed' }) },
      { fullName: 'is late', result: () => ({ state: 'failed', errors: [{ name: error.name }] }) },
    ]
    const allTests = (state?: string) => tests.filter((one) => !state || one.result().state === state)
    return {
      moduleId: '/repo/a.e2e.test.ts',
      project: { name: project, config: { root: '/repo' } },
      errors: () => [],
      children: { allSuites: () => [{ errors: () => hookErrors }], allTests },
    } as unknown as TestModule
  }

  test('a test of whole programs that failed', () => {
    expect(doubtful([module({})])).toEqual([{ file: 'a.e2e.test.ts', tests: ['is late'] }])
  })

  test('no test of another kind, no file that broke outside of its tests, and no fault that stands', () => {
    const final = [
      module({ project: 'db' }),
      module({ hookErrors: ['hook failed'] }),
      module({ error: new StandingFault('2 deadlocks') }),
    ]
    expect(doubtful(final)).toEqual([])
  })
})
