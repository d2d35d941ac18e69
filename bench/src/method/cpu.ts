import { readdirSync, readFileSync } from 'node:fs'

/** USER_HZ of every Linux that Node runs on: what /proc counts time in. */
const tickMicros = 10_000

interface Stat {
  parent: number
  /** of all its threads, those that have ended included; µs */
  own: number
  /** of children that have ended and were waited for; µs */
  reaped: number
}

/** proc(5); the name in parentheses may hold anything. Undefined: no such process. */
function statOf(pid: number): Stat | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number)
    const [, parent = 0] = fields
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15)
    return { parent, own: (user + system) * tickMicros, reaped: (childUser + childSystem) * tickMicros }
  } catch {
    return undefined
  }
}

/** CPU time that a process has used so far, in µs and steps of 10,000. Throws when it is gone: a difference would mean nothing. */
export function cpuMicros(pid: number): number {
  const stat = statOf(pid)
  if (!stat) throw new Error(`process ${pid} is gone`)
  return stat.own
}

/** The same of a process with all its descendants, also those that have ended: of a server that works in children. */
export function cpuMicrosOfTree(root: number): number {
  const all = new Map<number, Stat>()
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined
    if (stat) all.set(Number(name), stat)
  }
  if (!all.has(root)) throw new Error(`process ${root} is gone`)
  const belongs = (pid: number): boolean => {
    const parent = all.get(pid)?.parent
    return pid === root || (parent !== undefined && parent !== 0 && belongs(parent))
  }
  let sum = 0
  for (const [pid, { own, reaped }] of all) if (belongs(pid)) sum += own + reaped
  return sum
}

/** Time that the machine has spent on anything, or one core of it, in µs. Interrupts are nobody's, and left out. */
export function busyMicros(core?: number): number {
  const label = core === undefined ? 'cpu' : `cpu${core}`
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`${label} `))
  const [user = 0, nice = 0, system = 0] = (line ?? '').split(/\s+/).slice(1).map(Number)
  return (user + nice + system) * tickMicros
}
