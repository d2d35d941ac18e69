import type { GatewayConfig } from '../config.ts'
import type { Place } from './holds.ts'

/** Where a gateway of this configuration will listen for agents. */
export function placesOf({ host, port, mqtt, tls }: GatewayConfig): Place[] {
  const places = [
    { host, port, variable: 'GATEWAY_PORT', hostVariable: 'GATEWAY_HOST' },
    { host: mqtt.host, port: mqtt.port, variable: 'MQTT_PORT', hostVariable: 'MQTT_HOST' },
    { host: mqtt.host, port: tls && mqtt.tlsPort, variable: 'MQTTS_PORT', hostVariable: 'MQTT_HOST' },
  ]
  return places.flatMap((place) => (place.port === undefined ? [] : [{ ...place, port: place.port }]))
}

/**
 * What a worker's environment says other than its supervisor's.
 *
 * @param ports of its places, in their order
 * @param birth counts all workers of this supervisor, replacements too: what one held is not the next one's
 */
export const settingsOf = (config: GatewayConfig, ports: readonly number[], birth: number) => ({
  ...Object.fromEntries(placesOf(config).map(({ variable }, index) => [variable, String(ports[index])])),
  GATEWAY_NODE: `${config.node}.${birth}`,
  GATEWAY_WORKERS: '1',
  GATEWAY_METRICS_PORT: 'off',
})
