import { ensureReleaseKeys } from '../release/keys.ts'
import type { Settings } from './child.ts'
import type { Addresses, DataFolder, Demo } from './data-folder.ts'
import type { StartOptions } from './options.ts'

/** Between two heartbeats here; production has 60 s (docs/choices.md, Heartbeats). */
export const heartbeatMs = 5_000

/** An address to connect to, for one to listen on. */
const reachable = (host: string) =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host

/** Where people and agents find the server. */
export function addressesOf({ host, port, gatewayPort, mqttPort }: StartOptions): Addresses {
  const name = reachable(host)
  const gateway = `ws://${name}:${gatewayPort}`
  const mqtt = [...(mqttPort === 'off' ? [] : [`mqtt://${name}:${mqttPort}`]), `${gateway}/mqtt`]
  return { api: `http://${name}:${port}`, gateway, mqtt }
}

/** All that an agent can connect to. */
const gatewayUrls = ({ gateway, mqtt }: Addresses): string => [`${gateway}/agent`, ...mqtt].join()

/** Most devices reach a gateway over WebSocket, some over MQTT. */
const simulatedMix = ({ mqttPort }: StartOptions): string =>
  mqttPort === 'off' ? 'websocket=80,mqtt-ws=20' : 'mix'

/** Whatever the parts can be told by the environment they are told, unless a switch of ours stands for it. */
const environment = (): Settings =>
  Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )

/** What we say where the environment says nothing: a variable that is set wins. */
const unlessSet = (settings: Settings): Settings =>
  Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, process.env[name] || value]))

/** The environment of the control plane. */
export function controlPlaneSettings(
  options: StartOptions,
  folder: DataFolder,
  databaseUrl: string,
  redisUrl: string | undefined,
): Settings {
  const addresses = addressesOf(options)
  return {
    ...environment(),
    ...unlessSet({
      NODE_ENV: 'development',
      KEYS_DIR: folder.keys,
      AUDIT_HEADS_DIR: folder.audit,
      PUBLIC_URL: addresses.api,
      GATEWAY_URLS: gatewayUrls(addresses),
      HEARTBEAT_INTERVAL_MS: String(heartbeatMs),
      ENABLE_REGISTRATION: 'true',
      BINARY_SOURCE: 'local',
      BINARY_DIR: folder.releases,
      RELEASE_KEYS: ensureReleaseKeys(folder.releaseKey).publicKey,
      EDGE_SHARED_KEY: folder.edgeSharedKey(),
    }),
    DATA: folder.path,
    // Where agents run here, their version becomes a release.
    RELEASE_OWN_AGENT: options.agents > 0 || !options.noHostAgent ? 'true' : '',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl ?? '',
    HOST: options.host,
    PORT: String(options.port),
    INTERNAL_PORT: String(options.internalPort),
    METRICS_PORT: String(options.metricsPort),
  }
}

/** The environment of the gateway. */
export function gatewaySettings(
  options: StartOptions,
  folder: DataFolder,
  redisUrl: string | undefined,
): Settings {
  return {
    ...environment(),
    ...unlessSet({ NODE_ENV: 'development', EDGE_SHARED_KEY: folder.edgeSharedKey() }),
    REDIS_URL: redisUrl ?? '',
    GATEWAY_HOST: options.host,
    GATEWAY_PORT: String(options.gatewayPort),
    MQTT_HOST: options.host,
    MQTT_PORT: String(options.mqttPort),
    MQTTS_PORT: 'off',
    GATEWAY_METRICS_PORT: String(options.gatewayMetricsPort),
    GATEWAY_WORKERS: options.gatewayWorkers,
    EXCHANGE_URL: `http://127.0.0.1:${options.internalPort}/internal/edge/exchange`,
  }
}

/** Agents that are not there by then are not waited for. */
export const agentsPatienceMs = ({ agents }: StartOptions): number => 60_000 + agents * 20

/** What a process with agents is told. */
export function agentSettings(options: StartOptions, state: string, { enrollmentKey }: Demo): Settings {
  const addresses = addressesOf(options)
  return {
    API: addresses.api,
    GATEWAYS: gatewayUrls(addresses),
    TRANSPORTS: simulatedMix(options),
    ENROLLMENT_KEY: enrollmentKey,
    AGENTS: String(options.agents),
    STATE: state,
    PATIENCE_MS: String(agentsPatienceMs(options)),
  }
}
