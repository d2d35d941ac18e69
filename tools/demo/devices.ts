import type { TransportKind } from '@svc/agent-sim'

/** One simulated device, as the demo needs it. */
export interface DemoDevice {
  id: string
  via: TransportKind
  /** How often the device's ledger says that it started the command. */
  executions(commandId: string): number
}

/** The one that leaves and returns. */
export interface Traveller extends DemoDevice {
  /** As if its power failed. */
  goAway(): Promise<void>
  comeBack(): Promise<void>
}

/** Repeatable choice: mulberry32, good enough to pick devices. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `count` different items, in random order. */
export function pick<T>(items: readonly T[], count: number, random: () => number): T[] {
  const rest = [...items]
  return Array.from({ length: Math.min(count, rest.length) }, () => {
    const [item] = rest.splice(Math.floor(random() * rest.length), 1)
    return item as T
  })
}
