import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { identify } from '../services/abandoned.ts'

export interface Lock {
  /** An earlier owner was gone without having released it. */
  stale: boolean
  release: () => void
}

/** The process that holds the lock, or undefined when there is none or it is gone. */
export function lockOwner(path: string): number | undefined {
  const owner = read(path)
  const pid = Number.parseInt(owner, 10)
  return pid > 0 && identify(pid) === owner ? pid : undefined
}

/** Takes the lock file, also from an owner that is gone. Undefined when somebody holds it. */
export async function takeLock(path: string): Promise<Lock | undefined> {
  const own = `${path}.${process.pid}`
  const me = identify(process.pid) ?? String(process.pid)
  const release = () => {
    if (read(path) === me) rmSync(path)
  }
  writeFileSync(own, me, { mode: 0o600 })
  try {
    for (let stale = false; ; stale = true) {
      // A link is made whole or not at all, so nobody reads a lock without an owner in it.
      if (link(own, path)) {
        // Another one may have found the same dead owner and remove what it takes for his: whose lock stays, has it.
        if (stale) await sleep(100)
        return read(path) === me ? { stale, release } : undefined
      }
      if (stale || lockOwner(path) !== undefined) return undefined
      rmSync(path, { force: true })
    }
  } finally {
    rmSync(own, { force: true })
  }
}

/** Runs `work` while holding the lock, waiting for it at most `withinMs`. */
export async function withLock<T>(path: string, withinMs: number, work: () => Promise<T>): Promise<T> {
  const patience = Date.now() + withinMs
  for (;;) {
    const lock = await takeLock(path)
    if (lock) return work().finally(lock.release)
    if (Date.now() > patience) throw new Error(`${path} is held by process ${lockOwner(path)}`)
    await sleep(50)
  }
}

function link(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
