import type { Bus } from '@svc/proto/bus'
import { type Logger, pino } from 'pino'
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
  limits: Limits
  counters: Counters
  registry: Registry
  /** guards that a proof takes away */
  without: ReadonlySet<string>
  /** Tells of an error that nobody expected: counted, and in the log. */
  failed: (error: unknown) => void
}

export function groundOf({ config, bus, logger, limits, without = new Set() }: GatewayOptions): Ground {
  const log = (logger ?? pino({ level: config.logLevel })).child({ node: config.node })
  const counters = new Counters()
  return {
    config,
    node: config.node,
    bus,
    log,
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
