import { mkdirSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The file of an installation in AUDIT_HEADS_DIR. */
export const headsFileName = 'audit-heads.jsonl'

/** A place for heads that cannot be written. The message is one line that names it. */
export class HeadsFileError extends Error {
  override name = 'HeadsFileError'
}

/** A file that lines are added to, and nothing else. */
export interface HeadsFile {
  readonly path: string
  /** Resolves when the lines are on the disk. Each ends with a line feed. */
  append(lines: string): Promise<void>
}

const lineFeed = 10

/** A line that a crash cut short must not take the next one with it. */
async function endsMidLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat()
  if (size === 0) return false
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] !== lineFeed
}

async function sync(path: string): Promise<void> {
  const opened = await open(path, 'r')
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

/**
 * Opens the file of heads in a folder, and makes both where they are not there yet. It is opened anew for each batch, so that it may be
 * moved away at any time. @throws HeadsFileError where it cannot be written
 */
export async function openHeadsFile(dir: string): Promise<HeadsFile> {
  const path = join(dir, headsFileName)
  const append = async (lines: string) => {
    const file = await open(path, 'a+', 0o600)
    try {
      const { size } = await file.stat()
      await file.appendFile((await endsMidLine(file)) ? `\n${lines}` : lines)
      await file.sync()
      if (size === 0) await sync(dirname(path)) // its name, too
    } finally {
      await file.close()
    }
  }
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    await append('')
  } catch (error) {
    throw new HeadsFileError(`cannot write ${path} (AUDIT_HEADS_DIR): ${(error as Error).message}`, {
      cause: error,
    })
  }
  return { path, append }
}
