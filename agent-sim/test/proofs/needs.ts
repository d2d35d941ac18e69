import { test } from 'vitest'
import { systemTests } from '../system/harness/suite.ts'
import { findHaproxy } from './haproxy.ts'

const missing = { haproxy: () => !findHaproxy() }

/** A proof's tests, or where a program that it needs is not installed one test that is seen to be skipped. */
export const proofTests = (
  name: string,
  needs: readonly (keyof typeof missing)[],
  tests: () => void,
): void => {
  const lacking = needs.filter((program) => missing[program]())
  if (lacking.length === 0) systemTests(name, tests)
  else test.skip(`skipped: needs ${lacking.join(', ')}`, () => undefined)
}
