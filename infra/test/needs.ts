import { describe, test } from 'vitest'
import { findProgram, sbin } from '../../tools/services.ts'

/**
 * A group of tests that drive a program which need not be there: without it the group is one skipped test that says what is missing.
 *
 * @param debian the package that has it
 * @param group told the program's path
 */
export function withProgram(
  name: string,
  debian: string,
  title: string,
  group: (path: string) => void,
): void {
  const path = findProgram(name, undefined, sbin)
  if (path) describe(title, () => group(path))
  else test.skip(`skipped: needs ${debian} (${title})`, () => undefined)
}
