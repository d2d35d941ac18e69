import { createHash } from 'node:crypto'
import { chmod, open, readFile, rename, rm, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from './whole-file.ts'

/** Where a component's file lies, with what may come and what was before it: in one folder, so that a rename is all it takes. */
export interface Place {
  file: string
  /** downloaded and not proven yet */
  fresh: string
  /** the file before the last swap */
  backup: string
}

/** @param name `svc-agent`, `svc-helper` */
export function placeIn(stateDir: string, name: string): Place {
  const file = join(stateDir, 'bin', name)
  return { file, fresh: `${file}.fresh`, backup: `${file}.previous` }
}

/** SHA-256 in hex; undefined when there is no such file. */
export async function hashOf(path: string): Promise<string | undefined> {
  try {
    return createHash('sha256')
      .update(await readFile(path))
      .digest('hex')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Copies a program durably and whole or not at all; answers its SHA-256. */
export async function copyProgram(from: string, to: string): Promise<string> {
  const bytes = await readFile(from)
  const half = `${to}.half`
  const file = await open(half, 'w', 0o700)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
  await chmod(half, 0o755)
  await rename(half, to)
  await syncFolder(dirname(to))
  return createHash('sha256').update(bytes).digest('hex')
}

/** The two steps of a swap; given as one, so that a test can fall in between. */
export interface Swap {
  remove: (path: string) => Promise<void>
  rename: (from: string, to: string) => Promise<void>
}

export const swapOnDisk: Swap = { remove: unlink, rename }

/**
 * Puts the fresh file in the place of the old one. The old one is removed first: it runs, and nothing may be written into it (interface
 * §Versioning 4). Between the two steps there is none; the launcher, which is another file, then brings the backup back.
 */
export async function swapIn({ file, fresh }: Place, { remove, rename }: Swap = swapOnDisk): Promise<void> {
  await remove(file)
  await rename(fresh, file)
  await syncFolder(dirname(file))
}

/** Brings the backup back; it stays. */
export async function restore({ file, fresh, backup }: Place): Promise<void> {
  await copyProgram(backup, file)
  await rm(fresh, { force: true })
}
