import type { Random } from '../clock.ts'
import { type TransportKind, urlsOf } from './kinds.ts'
import { mqttTransport } from './mqtt.ts'
import type { Transport } from './transport.ts'
import { webSocketTransport } from './websocket.ts'

/** What a device needs to reach its gateways. */
export interface Way {
  deviceId: string
  /** the device's token, as each connection is to show it */
  token: () => string
  /** the same as a password of MQTT; default: the token */
  password?: () => string
  /** URLs of the gateways, whatever is spoken there */
  gateways: readonly string[]
  random: Random
  /** over MQTT: seconds of silence after which the server is pinged; absent: the agent's own */
  keepaliveSeconds?: number | undefined
}

/** The transport of the wanted kind. Throws when no gateway speaks it. */
export function openTransport(
  kind: TransportKind,
  { gateways, keepaliveSeconds, token, password = token, ...device }: Way,
): Transport {
  const urls = urlsOf(kind, gateways)
  if (urls.length === 0) throw new Error(`no gateway is known that speaks ${kind}: ${gateways.join(', ')}`)
  return kind === 'websocket'
    ? webSocketTransport({ urls, token, ...device })
    : mqttTransport({ urls, keepaliveSeconds, password, ...device })
}
