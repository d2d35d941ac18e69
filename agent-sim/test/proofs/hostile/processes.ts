import { readFileSync } from 'node:fs'
import type { System } from '../../system/harness/system.ts'
import type { Row } from '../verdict.ts'

/** The processes of a gateway: its supervisor, where there is one, and those that accept agents. */
export interface Processes {
  program: number
  workers: number[]
}

const read = (path: string): string => readFileSync(path, 'utf8')

/** Those that there are now, by the system and not by what the gateway says. */
export function processesOf(system: System, gateway: number): Processes {
  const program = system.gateway(gateway).pid
  const children = read(`/proc/${program}/task/${program}/children`).split(' ').filter(Boolean).map(Number)
  return { program, workers: children.length > 0 ? children : [program] }
}

/** Resident memory of the workers, in bytes (proc(5), statm; pages of 4 KiB). */
export const memoryOf = ({ workers }: Processes): number =>
  workers.reduce((sum, pid) => sum + Number(read(`/proc/${pid}/statm`).split(' ')[1]) * 4_096, 0)

const list = ({ program, workers }: Processes) => [program, ...workers].join(' ')

export const samePids = (before: Processes, after: Processes): Row => ({
  what: 'process ids of the gateway and its workers',
  expected: list(before),
  seen: list(after),
  pass: list(before) === list(after),
})

const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`

/** Memory after a storm, against what it was once everything had been seen before. */
export const sameMemory = (what: string, before: number, after: number, limit: number): Row => ({
  what,
  expected: `at most ${megabytes(limit)} more than ${megabytes(before)}`,
  seen: megabytes(after),
  pass: after - before <= limit,
})
