import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type Program, startProgram } from '../../../agent-sim/test/system/harness/program.ts'
import { findRedisServer, freePort, startRedis } from '../../../tools/services.ts'
import type { Ground } from '../method/contract.ts'
import { collectable, type Measured } from '../method/memory.ts'
import { cores, pin } from '../method/pin.ts'
import { type Agent, openDatabase, seedDevices, seedPlace } from './devices.ts'
import { type Database, startDatabase } from './database.ts'

/** A gateway of the product, in a process of its own on the server's core. */
export interface Gateway extends Measured {
  log: () => string
  /** its name on the bus */
  node: string
  port: { svc: number; mqtt: number; 'mqtt-ws': number }
  stop: () => Promise<void>
}

/** All that is behind a gateway: Postgres, Redis and the control plane, as in production but for one thing: nobody has enrolled, the devices are there. */
export interface Site {
  database: Database
  redis: { url: string; pid: number }
  controlPlane: { pid: number }
  agents: Agent[]
  gateway: (options?: { tls?: { certFile: string; keyFile: string } }) => Promise<Gateway>
}

export interface SiteOptions {
  /** devices that connect */
  agents: number
  /** rows of the table that heartbeats are written to */
  presences?: number
  /** all but the gateways stay off the server's core; without it they run wherever there is room */
  aside: boolean
}

/** Brings it up; it ends with the run. */
export async function startSite(ground: Ground, options: SiteOptions): Promise<Site> {
  if (!findRedisServer()) throw new Error('there is no redis-server on PATH: gateways need one')
  ground.progress('starting Postgres, Redis and the control plane')
  const [database, redis, ports] = await Promise.all([
    startDatabase(ground),
    startRedis({ dir: join(ground.folder, 'redis') }),
    Promise.all([freePort(), freePort()]),
  ])
  ground.afterwards(() => redis.kill())
  const [port, internalPort] = ports
  const environment = {
    // Production, as its defaults are; agents are refused there without TLS unless they are on this machine.
    NODE_ENV: 'production',
    LOG_LEVEL: 'info',
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    KEYS_DIR: join(ground.folder, 'keys'),
    EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
    PORT: String(port),
    INTERNAL_PORT: String(internalPort),
    METRICS_PORT: '0',
    // Nobody is cut for a silence that is the bench's own.
    HEARTBEAT_INTERVAL_MS: '3600000',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    GATEWAY_URLS: 'ws://127.0.0.1:1/agent',
    EXCHANGE_URL: `http://127.0.0.1:${internalPort}/internal/edge/exchange`,
  }
  // Its first start makes the tables.
  const controlPlane = await start(ground, {
    entry: 'control-plane',
    env: environment,
    ready: /control plane is up/,
  })
  ground.progress(`writing ${options.agents} devices`)
  const sql = openDatabase(database.url)
  const agents = await seedDevices(sql, await seedPlace(sql), options.agents, options.presences)
  await sql.end()
  if (options.aside) for (const pid of [database.pid, redis.pid, controlPlane.pid]) pin(pid, cores.client)
  return {
    database,
    redis,
    controlPlane,
    agents,
    gateway: ({ tls } = {}) => startGateway(ground, environment, tls),
  }
}

async function start(
  ground: Ground,
  program: { entry: string; env: Record<string, string>; ready: RegExp },
): Promise<Program> {
  const started = await startProgram(program)
  ground.afterwards(() => started.kill())
  return started
}

async function startGateway(
  ground: Ground,
  environment: Record<string, string>,
  tls: { certFile: string; keyFile: string } | undefined,
): Promise<Gateway> {
  const env = {
    ...environment,
    NODE_OPTIONS: collectable.join(' '),
    // Any free ones: gateways that start at the same time would find the same.
    GATEWAY_PORT: '0',
    MQTT_PORT: '0',
    MQTTS_PORT: 'off',
    GATEWAY_METRICS_PORT: 'off',
    ...(tls && { TLS_CERT_FILE: tls.certFile, TLS_KEY_FILE: tls.keyFile }),
  }
  const program = await start(ground, { entry: 'gateway', env, ready: /accepting agents/ })
  pin(program.pid, cores.server)
  const { engine, node, url, mqtt } = readiness(program.log())
  if (engine !== 'uWebSockets.js')
    throw new Error(`the gateway runs on ${engine}: that is not what is to be measured`)
  const port = (of: string | undefined) => Number(new URL(of ?? '').port)
  return {
    pid: program.pid,
    log: () => program.log(),
    node,
    port: { svc: port(url), mqtt: port(mqtt.find((at) => at.startsWith('mqtt:'))), 'mqtt-ws': port(url) },
    stop: () => program.kill(),
  }
}

/** What a gateway says once it accepts agents. */
function readiness(log: string): { engine: string; node: string; url: string; mqtt: string[] } {
  const line = log.split('\n').find((text) => text.includes('accepting agents'))
  const { instance, details } = JSON.parse(line ?? '{}') as { instance: string; details: object }
  return { node: instance, ...details } as ReturnType<typeof readiness>
}
