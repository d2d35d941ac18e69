import type { GatewayConfig } from './config.ts'
import type { Limits } from './ops/limits.ts'
import { trustOf } from './transport/address.ts'
import { chooseTransport } from './transport/choose.ts'
import type { Transport } from './transport/link.ts'
import { MqttTransport } from './transport/mqtt/transport.ts'
import { together } from './transport/together.ts'

/**
 * All that a gateway of this configuration listens on, as one.
 *
 * @param shared with other workers of the same supervisor
 * @param withoutEngine told why, when the binary of uWebSockets.js does not run here
 * @param without guards that a proof takes away
 */
export async function socketsOf(
  { host, port, tls, trustedProxies, mqtt }: GatewayConfig,
  limits: Limits,
  shared: boolean,
  withoutEngine: (reason: string) => void,
  without: ReadonlySet<string>,
): Promise<Transport> {
  const { idleSeconds, maxBacklogBytes, maxNewcomers, helloWithinMs } = limits
  const beginning = { helloWithinMs, maxBeginning: maxNewcomers }
  const common = { tls, trusted: trustOf(trustedProxies), maxBacklogBytes, ...beginning }
  const overMqtt = new MqttTransport({ ...limits, ...mqtt, ...common, maxStrangers: maxNewcomers })
  const firstLineAlone = without.has('all_forwarded_lines')
  const options = { ...common, host, port, idleSeconds, shared, firstLineAlone, mqtt: overMqtt.door }
  return together(await chooseTransport(options, withoutEngine), overMqtt)
}
