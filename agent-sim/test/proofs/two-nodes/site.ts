import { join } from 'node:path'
import { freePort } from '../../../../tools/services.ts'
import { startSystem, type System } from '../../system/harness/system.ts'
import { type Haproxy, startHaproxy } from '../haproxy.ts'
import { OwnPostgres } from '../own-postgres.ts'

/** The configuration that is shipped. */
const configuration = join(import.meta.dirname, '../../../../infra/haproxy/haproxy.cfg')

/** Two of each behind the proxy that is shipped, with a database and a Redis of their own. */
export interface Site {
  system: System
  postgres: OwnPostgres
  haproxy: Haproxy
  close(): Promise<void>
}

const [first, second] = [0, 1]

/** @param variables of all programs */
export async function startSite(variables: Record<string, string>): Promise<Site> {
  const [http, mqtt, metrics] = await Promise.all([freePort(), freePort(), freePort()])
  const postgres = await OwnPostgres.start()
  const front = `127.0.0.1:${http}`
  const system = await startSystem({
    controlPlanes: 2,
    gateways: 2,
    database: postgres.database,
    variables: {
      ...variables,
      TRUSTED_PROXIES: '127.0.0.1/32',
      PUBLIC_URL: `http://${front}`,
      GATEWAY_URLS: [`ws://${front}/agent`, `ws://${front}/mqtt`, `mqtt://127.0.0.1:${mqtt}`].join(),
    },
  }).catch(async (error: Error) => {
    await postgres.close()
    throw error
  })
  const at = (url = '') => `127.0.0.1:${new URL(url).port}`
  const haproxy = await startHaproxy({
    file: configuration,
    variables: {
      MAXCONN: '4000',
      HTTP_BIND: front,
      MQTT_BIND: `127.0.0.1:${mqtt}`,
      METRICS_BIND: `127.0.0.1:${metrics}`,
      CONTROL_PLANE_1: `127.0.0.1:${system.controlPlanePorts[first]?.port}`,
      CONTROL_PLANE_2: `127.0.0.1:${system.controlPlanePorts[second]?.port}`,
      GATEWAY_1: at(system.gatewayUrls[first]),
      GATEWAY_2: at(system.gatewayUrls[second]),
      GATEWAY_1_MQTT: at(system.mqttUrls[first]),
      GATEWAY_2_MQTT: at(system.mqttUrls[second]),
    },
  }).catch(async (error: Error) => {
    await system.close()
    throw error
  })
  return {
    system,
    postgres,
    haproxy,
    close: async () => {
      await haproxy.kill()
      await system.close()
    },
  }
}
