import type { Bus } from '@svc/proto/bus'
import type { Tracing } from '@svc/proto/trace'
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
  /** default: nothing is exported. The host's to close */
  tracing?: Tracing
  limits?: Partial<Limits>
  transport?: Transport
  /** other gateways on this machine, workers of the same supervisor, listen on the same ports */
  sharesPorts?: boolean
  /**
   * guards that a proof takes away, to see itself fail: `exchange_up`, without which nothing goes up while the bus is away;
   * `descriptor_guard`, without which it listens until descriptors have run out; `taken_when_accepted`, without which what is said
   * counts as handed on before it is; `revocations`, without which nobody is cut or kept out whose credential died;
   * `gap_notice`, without which nobody is told that messages from the bus may have been missed;
   * `shared_time`, without which time is the host's;
   * `evictions`, without which a connection stays of whose device a newer one is known;
   * `all_forwarded_lines`, without which a client that sends `X-Forwarded-For` itself says who it is; `malformed_close`, without which
   * frames that do not decode are passed over; `decode_guard`, without which they are an error of ours; `error_guard`, without which that
   * error is nobody's; `hello_deadline`, without which newcomers are waited for; `knocks`, without which one address may have any number
   * of them
   */
  without?: ReadonlySet<string>
}
