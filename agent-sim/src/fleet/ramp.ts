import { type Clock, pause } from '../clock.ts'

export interface Ramp {
  count: number
  perSecond: number
  /** How many may be under way; the ramp waits for them where they take longer than it allows. */
  atOnce: number
}

/** Calls `begin(1)` … `begin(count)` at a steady rate; resolves when all have resolved. `begin` must not reject. */
export async function ramp(
  { count, perSecond, atOnce }: Ramp,
  begin: (number: number) => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const since = clock.now()
  const underWay = new Set<Promise<void>>()
  for (let number = 1; number <= count && !signal.aborted; number += 1) {
    const earlyMs = since + ((number - 1) * 1000) / perSecond - clock.now()
    if (earlyMs > 0) await pause(clock, earlyMs, signal)
    if (underWay.size >= atOnce) await Promise.race(underWay)
    if (signal.aborted) break
    const one = begin(number).finally(() => underWay.delete(one))
    underWay.add(one)
  }
  await Promise.all(underWay)
}
