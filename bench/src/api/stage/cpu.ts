import { readdirSync, readFileSync } from 'node:fs'

/** proc(5): times of /proc/PID/stat are in these, whatever the kernel's own tick is. */
const microsecondsPerTick = 10_000

interface Entry {
  pid: number
  parent: number
  /** µs of the children that have ended and that it has taken note of */
  waitedFor: number
}

function entryOf(pid: number): Entry | undefined {
  try {
    // The name in parentheses may hold anything; what follows is counted from the state on.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    const waitedFor = (Number(fields[13]) + Number(fields[14])) * microsecondsPerTick
    return { pid, parent: Number(fields[1]), waitedFor }
  } catch {
    return undefined // it has ended since it was listed
  }
}

/** That process and all below it that live. */
export function processesUnder(root: number): number[] {
  return under(root).map(({ pid }) => pid)
}

function under(root: number): Entry[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => entryOf(Number(name)) ?? [])
  const found = all.filter(({ pid }) => pid === root)
  for (const one of found) found.push(...all.filter(({ parent }) => parent === one.pid))
  return found
}

/** µs on a core of each thread, to the nanosecond: schedstat knows them, where stat rounds to a hundredth of a second. */
function running(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    return threads.reduce((sum, thread) => {
      const [ns = '0'] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
      return sum + Number(ns) / 1_000
    }, 0)
  } catch {
    return 0 // it has ended: its parent knows
  }
}

/**
 * µs of processor time, user and system, that these processes and all below them have used so far, those that ended among them: a server
 * that forks for each connection is one figure. Linux only.
 */
export function cpuOf(roots: readonly number[]): number {
  return roots
    .flatMap((root) => under(root))
    .reduce((sum, { pid, waitedFor }) => sum + running(pid) + waitedFor, 0)
}
