import type { Limits } from './limits.ts'

export interface Facts {
  /** accepting agents */
  accepting: boolean
  busUp: boolean
  exchangeUp: boolean
  /** the control plane has renewed this node's lease in time */
  leased: boolean
  /** the event loop stood still for too long */
  blocked: boolean
  connections: number
  limits: Limits
}

/** What may be wrong, by the name under which `/health/ready` tells it (docs/operations.md#readiness). */
const flaws: Record<string, (facts: Facts) => boolean> = {
  draining: ({ accepting }) => !accepting,
  redis: ({ busUp }) => !busUp,
  exchange: ({ exchangeUp }) => !exchangeUp,
  lease: ({ leased }) => !leased,
  event_loop: ({ blocked }) => blocked,
}

/**
 * `/health`: whether the process is well; it is degraded while Redis or the control plane is away, and still serves. `/health/ready`:
 * whether new agents should be sent here, that is, whether an admission can be decided and commands come here; `failing` names what is
 * wrong, also where it is ready all the same. Nobody is asked: what is known is told.
 */
export function healthOf(path: '/health' | '/health/ready', facts: Facts): { status: number; body: unknown } {
  const { accepting, busUp, exchangeUp, leased, blocked, connections, limits } = facts
  const checks = { redis: busUp ? 'up' : 'down', exchange: exchangeUp ? 'up' : 'down' }
  if (path === '/health/ready') {
    const ready = accepting && (busUp || exchangeUp) && leased && !blocked
    const failing = Object.keys(flaws).filter((flaw) => flaws[flaw]?.(facts))
    const status = ready ? 'ready' : 'not ready'
    return { status: ready ? 200 : 503, body: { status, failing, accepting, checks } }
  }
  const status = busUp && exchangeUp ? 'ok' : 'degraded'
  return { status: 200, body: { status, accepting, connections, checks, limits } }
}
