import { setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { Ground } from '../method/contract.ts'
import { busyMicros } from '../method/cpu.ts'
import { cores, pin } from '../method/pin.ts'
import { startServed } from './calls.ts'
import type { Identity } from './connection.ts'
import type { CrowdOptions } from './crowd.ts'

export interface Beats {
  seconds: number
  /** ms, by percentile; none where nothing answers */
  latencies: Record<string, number>
  /** the client's own event-loop delay meanwhile, ms */
  loop: { p99: number; max: number }
}

/** Clients of one server, held by the load client's process. */
export interface Clients {
  connect: (identities: readonly Identity[]) => Promise<void>
  beat: (beats: { perSecond: number; count: number; answered: boolean }) => Promise<Beats>
  publish: (message: { topic: string; count: number; bytes: number }) => Promise<void>
  expect: () => Promise<void>
  arrived: (count: number) => Promise<void>
  close: () => Promise<void>
}

/** The load client: a process of its own on a core of its own. */
export interface Wire {
  clients: (options: CrowdOptions) => Promise<Clients>
  /** How busy its core has been since this was called, 0 to 1. */
  watch: () => () => number
  /** Resolves when nobody works on its core any more. */
  rest: () => Promise<void>
}

/** A core that is less busy than this, over one look, is at rest. */
const restBelow = 0.3
const lookMs = 1_000
const restWithinMs = 60_000

/**
 * Starts it; it ends with the run.
 * @param niceness above zero (to 19): what shares its core goes first, where it matters that others answer in time and not how fast clients are
 */
export async function startWire(ground: Ground, niceness = 0): Promise<Wire> {
  const child = await startServed('wire')
  ground.afterwards(() => child.kill())
  pin(child.pid, cores.client)
  if (niceness > 0) setPriority(child.pid, niceness)
  return {
    clients: async (options) => {
      const number = await child.call('make', options)
      const call =
        <A, R = void>(name: string) =>
        (argument?: A) =>
          child.call(name, { number, ...argument }) as Promise<R>
      const connect = call<{ identities: readonly Identity[] }>('connect')
      const arrived = call<{ count: number }>('arrived')
      return {
        connect: (identities) => connect({ identities }),
        beat: call<{ perSecond: number; count: number; answered: boolean }, Beats>('beat'),
        publish: call('publish'),
        expect: call('expect'),
        arrived: (count) => arrived({ count }),
        close: call('close'),
      }
    },
    watch,
    rest: async () => {
      for (const until = performance.now() + restWithinMs; performance.now() < until; ) {
        const busy = watch()
        await pause(lookMs)
        if (busy() < restBelow) return
      }
      throw new Error(`the load client's core does not come to rest within ${restWithinMs / 1000} s`)
    },
  }
}

function watch(): () => number {
  const [at, busy] = [performance.now(), busyMicros(cores.client)]
  return () => {
    const micros = (performance.now() - at) * 1000
    return micros > 0 ? Math.min(1, (busyMicros(cores.client) - busy) / micros) : 0
  }
}
