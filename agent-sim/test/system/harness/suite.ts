import { describe, test } from 'vitest'
import { findRedisServer } from '../../../../tools/services.ts'

/** A file's tests, or where there is no Redis to be had one test that is seen to be skipped. */
export const systemTests = (name: string, tests: () => void): void => {
  if (findRedisServer()) describe(name, { timeout: 240_000 }, tests)
  else test.skip('skipped: needs redis-server', () => undefined)
}
