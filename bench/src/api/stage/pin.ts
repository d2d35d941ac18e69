import { readdirSync, readFileSync } from 'node:fs'
import { cores, pin } from '../../method/pin.ts'

function parentOf(pid: number): number | undefined {
  try {
    // proc(5): the name in parentheses may hold anything.
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[1],
    )
  } catch {
    return undefined // it has ended since it was listed
  }
}

/** That process and all below it that live. */
export function processesUnder(root: number): number[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: parentOf(Number(name)) }))
  const found = [root]
  for (const parent of found) found.push(...all.filter((one) => one.parent === parent).map(({ pid }) => pid))
  return found
}

/** Puts servers, with what they have started already, on the server's core; what they start later stays there too. */
export function pinServers(...roots: number[]): void {
  for (const pid of roots.flatMap(processesUnder)) {
    try {
      pin(pid, cores.server)
    } catch (error) {
      // One that ended meanwhile needs no core: a database's own workers come and go.
      if (parentOf(pid) !== undefined) throw error
    }
  }
}
