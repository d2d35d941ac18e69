import type { Claims } from '../claims/claims.ts'
import type { Downlink } from '../downlink.ts'
import { Exchange } from '../exchange.ts'
import type { Life } from '../life.ts'
import type { ServerClock } from '../ops/server-clock.ts'
import type { CarryOut } from '../revocations.ts'
import type { Ground } from './ground.ts'

/** Who is told what the control plane answers. */
export interface Listeners {
  clock: ServerClock
  claims: Claims
  carryOut: CarryOut
  life: Life
  /** made after the exchange */
  downlink: () => Downlink
  busAway: () => boolean
}

/** The exchange with the control plane, and what becomes of its answers. */
export function exchangeOf(ground: Ground, listeners: Listeners): Exchange {
  const { config, node, limits, counters, registry, log } = ground
  const { clock, claims, carryOut, life, downlink, busAway } = listeners
  const deliver = (messages: readonly Uint8Array[]) => {
    counters.messagesReturned += messages.length
    for (const message of messages) downlink().take(message)
  }
  return new Exchange({
    urls: config.exchangeUrls,
    key: config.sharedKey,
    node,
    version: config.version,
    limits,
    counters,
    connections: () => registry.residents.size,
    busAway,
    deliver,
    take: async (answer) => {
      clock.learn(answer.serverTimeMs)
      life.heard(answer.life)
      // First: what follows may have to wait for a store that hangs.
      deliver(answer.messages)
      life.learned(answer.profiles)
      await carryOut(answer.revocations)
      await claims.remember(answer.profiles)
    },
    onState: (up, why) => {
      if (up) log.info('the control plane answers')
      else log.warn({ reason: why?.message }, 'the control plane does not answer')
    },
  })
}
