import type { Bus } from '@svc/proto/bus'
import type { Logger } from 'pino'
import type { Claims } from '../claims/claims.ts'
import type { GatewayConfig } from '../config.ts'
import type { Limits } from '../ops/limits.ts'
import type { Transport } from '../transport/link.ts'

export interface GatewayOptions {
  config: GatewayConfig
  /** the host's: it is not closed here */
  bus: Bus
  /** instead of those that the configuration asks for; the host's too */
  claims?: Claims
  logger?: Logger
  limits?: Partial<Limits>
  transport?: Transport
  /** other gateways on this machine, workers of the same supervisor, listen on the same ports */
  sharesPorts?: boolean
  /**
   * guards that a proof takes away, to see itself fail: `exchange_up`, without which nothing goes up while the bus is away;
   * `descriptor_guard`, without which it listens until descriptors have run out; `taken_when_accepted`, without which what is said
   * counts as handed on before it is; `all_forwarded_lines`, without which a client that sends `X-Forwarded-For` itself says who it is
   */
  without?: ReadonlySet<string>
}
