import type { Bus } from '@svc/proto/bus'
import { openLog, type SecurityLog, securityOf } from '@svc/proto/log'
import { noTracing, type Tracing } from '@svc/proto/trace'
import type { Logger } from 'pino'
import type { GatewayConfig } from '../config.ts'
import { Counters } from '../ops/counters.ts'
import { type Limits, limits as defaults } from '../ops/limits.ts'
import { Registry } from '../session/registry.ts'
import type { GatewayOptions } from './options.ts'

/** What every part of a gateway stands on. */
export interface Ground {
  config: GatewayConfig
  /** of this gateway among all of them */
  node: string
  /** the host's */
  bus: Bus
  log: Logger
  security: SecurityLog
  tracing: Tracing
  limits: Limits
  counters: Counters
  registry: Registry
  /** guards that a proof takes away */
  without: ReadonlySet<string>
  /** Tells of an error that nobody expected: counted, and in the log. */
  failed: (error: unknown) => void
}

export function groundOf({
  config,
  bus,
  logger,
  limits,
  tracing = noTracing,
  without = new Set(),
}: GatewayOptions): Ground {
  const { node, logLevel: level } = config
  const log = logger ?? openLog({ service: 'gateway', level, instance: node }).log
  const counters = new Counters()
  return {
    config,
    node: config.node,
    bus,
    log,
    security: securityOf(log),
    tracing,
    limits: { ...defaults, ...(config.idleSeconds && { idleSeconds: config.idleSeconds }), ...limits },
    counters,
    registry: new Registry(),
    without,
    failed: (error) => {
      counters.errors++
      log.error({ err: error }, 'unexpected')
    },
  }
}
