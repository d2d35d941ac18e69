import { randomBytes } from 'node:crypto'
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'

/** Keys that cannot be read or used. The message is one line that names the file. */
export class KeyError extends Error {
  override name = 'KeyError'
}

/** Written whole or not at all, readable by its owner alone; false when the name was taken by a process that was quicker. */
export function writeOnce(path: string, text: string): boolean {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new KeyError(`cannot make ${path} (KEYS_DIR): ${(error as Error).message}`, { cause: error })
  }
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft)
  }
}

const othersMayRead = 0o004

/** @throws KeyError also where everybody may read it */
export function readPrivate(path: string): string {
  try {
    if (statSync(path).mode & othersMayRead) throw new Error('everybody may read it: chmod o-r it')
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new KeyError(`cannot read ${path}: ${(error as Error).message}`, { cause: error })
  }
}

/** Of a folder that is not ours to change: mounted for reading alone, or another user's. Each key is looked at by itself. */
const notOurs = new Set(['EROFS', 'EPERM'])

/** Made where there is none, and closed to others. @throws KeyError */
export function openFolder(dir: string) {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    closeToOthers(dir)
  } catch (error) {
    throw new KeyError(`cannot use ${dir} (KEYS_DIR): ${(error as Error).message}`, { cause: error })
  }
}

const anythingOfOthers = 0o007

function closeToOthers(dir: string) {
  try {
    if (statSync(dir).mode & anythingOfOthers) chmodSync(dir, 0o700)
  } catch (error) {
    if (!notOurs.has((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
