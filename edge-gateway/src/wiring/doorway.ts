import { isLoopBlocked } from '@svc/proto/loop'
import { count } from '../ops/counters.ts'
import { healthOf } from '../ops/health.ts'
import { type Host, Session } from '../session/session.ts'
import type { Doorway } from '../transport/link.ts'
import { plantedIn } from '../transport/planted.ts'
import type { Ground } from './ground.ts'
import type { Parts } from './parts.ts'
import type { Stage } from './stage.ts'

/** What a transport finds at the gateway: who may come in, and what becomes of who does. @param host of its sessions */
export function doorwayOf(ground: Ground, stage: Readonly<Stage>, parts: Parts, host: Host): Doorway {
  const { bus, limits, counters, registry, without, failed } = ground
  const { descriptors, exchange, keepalive, knocks } = parts
  return {
    open: () => (stage.accepting && registry.newcomers.size < limits.maxNewcomers ? true : 503),
    knock: (address) => without.has('knocks') || knocks.take(address),
    accept: (link, greeting) => {
      const session = new Session(link, greeting, host)
      counters.opened++
      registry.enter(session)
      descriptors.came()
      if (!without.has('hello_deadline')) keepalive.watch(session, limits.helloWithinMs)
      return plantedIn(session, without)
    },
    rejected: (status, address) => {
      count(counters.rejected, String(status))
      if (address !== undefined) knocks.giveBack(address)
    },
    strayed: (reason, address) => {
      if (address !== undefined) knocks.ended(address, reason)
      counters.opened++
      count(counters.closed, reason)
    },
    failed,
    health: (path) =>
      healthOf(path, {
        accepting: stage.accepting,
        busUp: bus.up,
        exchangeUp: exchange.up,
        leased: exchange.ageMs < limits.leaseMs,
        blocked: isLoopBlocked(),
        connections: registry.size,
        limits,
      }),
  }
}
