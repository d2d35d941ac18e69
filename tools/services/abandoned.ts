import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * What the system tells of a process, from its state on (proc(5): the name in parentheses before it may hold anything). Undefined where it
 * tells nothing: another system, or no such process.
 */
function statusOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return undefined
  }
}

/**
 * Whether that process runs, whoever owns it. One that has ended, and all of whose threads have, does not, although its parent may not have
 * taken note of it yet: where the parent is gone too, that may take the first process of a container for ever.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return !/[ZX]/.test(statusOf(pid)?.[0] ?? '') || threadsOf(pid) > 1
}

/** While one of them is left, files and sockets are still open. */
function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    return 0
  }
}

/**
 * What tells a process from a later one of the same number: the number and, where the system says it, the moment it
 * began. Undefined when there is no such process.
 */
export function identify(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined
  const began = statusOf(pid)?.[19] // the 20th from the state on
  return began === undefined ? `${pid}` : `${pid} ${began}`
}

/** Removes the folders `{prefix}{pid}` beside each other whose process is gone: a killed one could not tidy up. */
export function removeAbandoned(prefix: string): void {
  const folder = dirname(prefix)
  const start = basename(prefix)
  for (const name of readdirSync(folder)) {
    const pid = name.startsWith(start) ? name.slice(start.length) : ''
    if (/^\d+$/.test(pid) && !isAlive(Number(pid))) {
      // Someone else's leftovers of the same name may not be ours to remove.
      try {
        rmSync(join(folder, name), { recursive: true, force: true })
      } catch {}
    }
  }
}
