import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file durably and whole or not at all: after a loss of power it is the old one or the new one. */
export async function writeWhole(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const fresh = await open(`${path}.new`, 'w', mode)
  try {
    await fresh.writeFile(content)
    await fresh.sync()
  } finally {
    await fresh.close()
  }
  await rename(`${path}.new`, path)
  await syncFolder(dirname(path))
}

/** What was renamed, made or removed in a folder is durable once the folder is (fsync(2), notes). */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Undefined when there is no such file. */
export const readText = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })

/** The JSON object in a file; undefined when there is none, or when it is none: whoever wrote it wrote it whole. */
export async function readObject(path: string): Promise<Record<string, unknown> | undefined> {
  const text = await readText(path)
  try {
    const value: unknown = JSON.parse(text ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
