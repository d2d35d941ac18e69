import { count } from '../ops/counters.ts'
import { healthOf } from '../ops/health.ts'
import { type Host, Session } from '../session/session.ts'
import type { Doorway } from '../transport/link.ts'
import { takingAtOnce } from '../transport/taking-at-once.ts'
import type { Ground } from './ground.ts'
import type { Parts } from './parts.ts'
import type { Stage } from './stage.ts'

/** What a transport finds at the gateway: who may come in, and what becomes of who does. @param host of its sessions */
export function doorwayOf(ground: Ground, stage: Readonly<Stage>, parts: Parts, host: Host): Doorway {
  const { bus, limits, counters, registry, without, failed } = ground
  const { descriptors, exchange, keepalive } = parts
  return {
    open: () => (stage.accepting && registry.newcomers.size < limits.maxNewcomers ? true : 503),
    accept: (link, greeting) => {
      const session = new Session(link, greeting, host)
      counters.opened++
      registry.enter(session)
      descriptors.came()
      keepalive.watch(session, limits.helloWithinMs)
      return without.has('taken_when_accepted') ? takingAtOnce(session) : session
    },
    rejected: (status) => count(counters.rejected, String(status)),
    strayed: (reason) => {
      counters.opened++
      count(counters.closed, reason)
    },
    failed,
    health: (path) =>
      healthOf(path, {
        accepting: stage.accepting,
        busUp: bus.up,
        exchangeUp: exchange.up,
        connections: registry.size,
        limits,
      }),
  }
}
