import { type Clock, pause } from '../clock.ts'
import type { Blow, Mishap } from './churn.ts'
import type { Member } from './member.ts'

export interface WeatherOptions {
  blows: Iterable<Blow>
  /** undefined: there is no such device yet, or no more */
  find: (number: number) => Member | undefined
  /** Something befell a device. */
  struck: (number: number, mishap: Mishap) => void
  clock: Clock
  /** Ends it, and what is under way. */
  signal: AbortSignal
}

/** Lets one blow after the other fall on the devices of a fleet; who is away already is spared. Resolves when all is over. */
export async function weather({ blows, find, struck, clock, signal }: WeatherOptions): Promise<void> {
  const underWay = new Set<Promise<void>>()
  for (const blow of blows) {
    await pause(clock, blow.afterMs, signal)
    if (signal.aborted) break
    const member = find(blow.number)
    if (!member?.isHere) continue
    struck(blow.number, blow.mishap)
    const one = member.suffer(blow, signal).finally(() => underWay.delete(one))
    underWay.add(one)
  }
  await Promise.all(underWay)
}
