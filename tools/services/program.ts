import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where Debian keeps programs of administrators, which are not on everybody's path. */
export const sbin: readonly string[] = ['/usr/sbin', '/sbin', '/usr/local/sbin']

/**
 * The file of a program, or undefined.
 *
 * @param path the folders that are looked through, as in PATH
 * @param more folders to look through after those
 */
export const findProgram = (
  name: string,
  path = process.env['PATH'] ?? '',
  more: readonly string[] = [],
): string | undefined =>
  [...path.split(delimiter).filter(Boolean), ...more]
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
