import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** Proportional set size of a process: what it holds of the machine's memory, bytes (proc(5), smaps_rollup). */
export function pssBytes(pid: number): number {
  const [, kilobytes] = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? []
  if (kilobytes === undefined) throw new Error(`process ${pid} does not say what it holds`)
  return Number(kilobytes) * 1024
}

/** A switch of Node that makes a program collect garbage when it gets SIGUSR2, and say so: see `collect.mjs`. */
export const collectable = ['--import', new URL('collect.mjs', import.meta.url).href]

const collected = /^memory collected (\d+)$/gm

/** A server's process as far as its memory goes. */
export interface Measured {
  pid: number
  /** what it has printed so far; undefined where it has no garbage to collect */
  log?: () => string
}

/** What a process holds once it has thrown away what it can; one with a `log` must run with {@link collectable}. */
export async function settledPss({ pid, log }: Measured, withinMs = 20_000): Promise<number> {
  if (log) {
    const count = () => [...log().matchAll(collected)].length
    const before = count()
    process.kill(pid, 'SIGUSR2')
    for (const until = performance.now() + withinMs; count() === before; await pause(20))
      if (performance.now() > until) throw new Error(`process ${pid} does not collect its garbage`)
  }
  return pssBytes(pid)
}

/** Bytes per connection: (at `many` − at `few`) / (many − few), so that what the process itself holds goes out. */
export const perConnection = (
  few: { connections: number; bytes: number },
  many: { connections: number; bytes: number },
): number => (many.bytes - few.bytes) / (many.connections - few.connections)
