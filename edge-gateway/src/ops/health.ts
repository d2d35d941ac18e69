import type { Limits } from './limits.ts'

export interface Facts {
  /** accepting agents */
  accepting: boolean
  busUp: boolean
  exchangeUp: boolean
  connections: number
  limits: Limits
}

/**
 * `/health`: whether the process is well; it is degraded while Redis or the control plane is away, and still serves. `/health/ready`:
 * whether new agents should be sent here, that is, whether an admission can be decided.
 */
export function healthOf(path: '/health' | '/health/ready', facts: Facts): { status: number; body: unknown } {
  const { accepting, busUp, exchangeUp, connections, limits } = facts
  const checks = { redis: busUp ? 'up' : 'down', exchange: exchangeUp ? 'up' : 'down' }
  if (path === '/health/ready') {
    const ready = accepting && (busUp || exchangeUp)
    return { status: ready ? 200 : 503, body: { status: ready ? 'ready' : 'not ready', accepting, checks } }
  }
  const status = busUp && exchangeUp ? 'ok' : 'degraded'
  return { status: 200, body: { status, accepting, connections, checks, limits } }
}
