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

/** When a process has come to rest. */
export interface Rest {
  /** not before: V8 gives back what it grew for a burst only when little has been allocated for some seconds */
  afterMs: number
  /** looks in a row that differ by no more than `maxDrift`, a share */
  looks: number
  maxDrift: number
}

/** Of a quick run the figures mean nothing: it waits less. */
export const rests = {
  full: { afterMs: 6_000, looks: 3, maxDrift: 0.01 },
  quick: { afterMs: 3_000, looks: 2, maxDrift: 0.05 },
} satisfies Record<string, Rest>
const lookEveryMs = 1_000
const withinMs = 60_000

/**
 * What a process holds once it has thrown away what it can: it collects its garbage again and again until that changes nothing any
 * more. One with a `log` must run with {@link collectable}; one without has no garbage.
 */
export async function settledPss(
  { pid, log }: Measured,
  { afterMs, looks, maxDrift }: Rest,
): Promise<number> {
  const begun = performance.now()
  const seen: number[] = []
  for (;;) {
    if (log) await collect(pid, log)
    seen.push(pssBytes(pid))
    const last = seen.slice(-looks)
    const drift = Math.max(...last) / Math.min(...last) - 1
    const elapsed = performance.now() - begun
    const rested = !log || elapsed > afterMs
    if (rested && last.length === looks && drift <= maxDrift) return last.at(-1) ?? 0
    if (elapsed > withinMs)
      throw new Error(`the memory of process ${pid} does not come to rest: ${last.join(', ')} bytes`)
    await pause(lookEveryMs)
  }
}

async function collect(pid: number, log: () => string): Promise<void> {
  const count = () => [...log().matchAll(collected)].length
  const before = count()
  process.kill(pid, 'SIGUSR2')
  for (const until = performance.now() + withinMs; count() === before; await pause(20))
    if (performance.now() > until) throw new Error(`process ${pid} does not collect its garbage`)
}

/** Bytes per connection: (at `many` − at `few`) / (many − few), so that what the process itself holds goes out. */
export const perConnection = (
  few: { connections: number; bytes: number },
  many: { connections: number; bytes: number },
): number => (many.bytes - few.bytes) / (many.connections - few.connections)
