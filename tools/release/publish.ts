import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DataFolder } from '../start/data-folder.ts'
import { Expected } from '../start/options.ts'
import { readSwitches, releaseOf } from './commands.ts'
import { ensureReleaseKeys } from './keys.ts'
import { nextSequence, writeRelease } from './write.ts'

/**
 * Builds a release, writes it where the server of a data folder has its releases, and registers it there. One that is not
 * registered goes again, so that it can be tried anew.
 *
 * @param given switches of `build`; the version at least
 * @param register what registers it by now that it lies there
 */
export async function publish<T>(
  folder: Pick<DataFolder, 'releases' | 'releaseKey'>,
  given: { version: string } & Partial<ReturnType<typeof readSwitches>>,
  register: () => Promise<T>,
): Promise<T> {
  const version = given.version.replace(/^v/, '')
  if (existsSync(join(folder.releases, version)))
    throw new Expected(`${version} is released already: a version is released once`)
  const { keyFile } = ensureReleaseKeys(folder.releaseKey)
  const release = await releaseOf({ ...readSwitches([]), ...given }, keyFile, nextSequence(folder.releases))
  const place = writeRelease(folder.releases, release)
  try {
    return await register()
  } catch (error) {
    rmSync(place, { recursive: true, force: true })
    throw error
  }
}
