import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, test } from 'vitest'

/** The file of a program, or undefined; also where Debian keeps those of administrators, which are not on everybody's path. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']
  return folders
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

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
  const path = findProgram(name)
  if (path) describe(title, () => group(path))
  else test.skip(`skipped: needs ${debian} (${title})`, () => undefined)
}
