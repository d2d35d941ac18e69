import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { type TestDatabase, testDatabase } from '../../../../control-plane/test/harness/database.ts'
import { freePort, type Redis, startRedis } from '../../../../tools/services.ts'
import { login } from '../../../../tools/token/login.ts'
import { StandingFault } from '../../../../tools/vitest/standing-fault.ts'
import { Api } from './api.ts'
import { installWitness } from './checker/witness.ts'
import { numberVariables } from './numbers.ts'
import { type Program, startProgram } from './program.ts'
import { seed, type Tenant } from './seed.ts'

type Role = 'api' | 'worker'
type Environment = Record<string, string>
type OfFirst = { gateway: Environment; controlPlane: Environment }

/**
 * The whole product over Redis, with agents over WebSocket and MQTT: API, worker and gateways in processes of their own, on free ports of the loopback
 * interface, with a database and a Redis of its own. Whatever is killed can be started again at the same place.
 */
export class System {
  readonly folder: string
  readonly tenant: Tenant
  readonly apiUrl: string
  /** by gateway, over WebSocket */
  readonly gatewayUrls: readonly string[]
  /** by gateway, over TCP */
  readonly mqttUrls: readonly string[]
  /** by control plane */
  readonly controlPlanePorts: Place['controlPlanePorts']
  /** The superuser's view of the rows: no role or scope of the product is in between. */
  readonly sql: postgres.Sql
  readonly #database: TestDatabase
  readonly #shared: boolean
  readonly #environment: Environment
  readonly #ofFirst: OfFirst
  readonly #programs = new Map<string, Program>()
  #redis: Redis

  constructor(place: Place, redis: Redis, tenant: Tenant) {
    this.folder = place.folder
    this.apiUrl = place.environment['PUBLIC_URL'] ?? ''
    this.gatewayUrls = place.gatewayUrls
    this.mqttUrls = place.mqttUrls
    this.controlPlanePorts = place.controlPlanePorts
    this.tenant = tenant
    this.#database = place.database
    this.#shared = place.shared
    this.#environment = place.environment
    this.#ofFirst = place.ofFirst
    this.#redis = redis
    this.sql = open(place.database.url)
  }

  /** What all of its programs are told. */
  get environment(): Readonly<Environment> {
    return this.#environment
  }

  get keysDir(): string {
    return this.#environment['KEYS_DIR'] ?? ''
  }

  get redis(): Redis {
    return this.#redis
  }

  get api(): Program {
    return this.#program('api')
  }

  get worker(): Program {
    return this.#program('worker')
  }

  /** One of several that are API and worker at once. */
  controlPlane(index: number): Program {
    return this.#program(`control plane ${index}`)
  }

  gateway(index: number): Program {
    return this.#program(`gateway ${index}`)
  }

  /** The name by which a gateway process holds devices. */
  nodeOf(index: number): string {
    const node = /"(?:node|instance)":"(edge-[^"]+)"/.exec(this.gateway(index).log())?.[1]
    if (!node) throw new Error(`gateway ${index} does not say what it is called`)
    return node
  }

  /** @param variables over what is set otherwise, for this life of it */
  async startRole(role: Role, variables: Environment = {}): Promise<void> {
    const args = ['--role', role]
    const env = { ...this.#environment, ...variables }
    this.#programs.set(
      role,
      await startProgram({ entry: 'control-plane', args, env, ready: /control plane is up/ }),
    )
  }

  /**
   * API and worker in one process, at the ports of its number.
   * @param variables over what is set otherwise, for this life of it
   */
  async startControlPlane(index: number, variables: Environment = {}): Promise<void> {
    const { port = '', internalPort = '' } = this.controlPlanePorts[index] ?? {}
    const own = index === 0 ? this.#ofFirst.controlPlane : {}
    const env = { ...this.#environment, PORT: port, INTERNAL_PORT: internalPort, ...own, ...variables }
    this.#programs.set(
      `control plane ${index}`,
      await startProgram({ entry: 'control-plane', env, ready: /control plane is up/ }),
    )
  }

  /** @param variables over what is set otherwise, for this life of it */
  async startGateway(index: number, variables: Environment = {}): Promise<void> {
    const port = ([url = '']: string[]) => new URL(url).port
    const env = {
      ...this.#environment,
      GATEWAY_PORT: port(this.gatewayUrls.slice(index)),
      MQTT_PORT: port(this.mqttUrls.slice(index)),
      ...(index === 0 && this.#ofFirst.gateway),
      ...variables,
    }
    this.#programs.set(
      `gateway ${index}`,
      await startProgram({ entry: 'gateway', env, ready: /accepting agents/ }),
    )
  }

  /** Brings Redis back, empty. */
  async startRedis(): Promise<void> {
    const { port, password } = this.#redis
    this.#redis = await startRedis({ dir: join(this.folder, 'redis'), port, password })
  }

  /** Logs the administrator in. */
  async admin(): Promise<Api> {
    const [api] = await this.admins(1)
    if (!api) throw new Error('there is no control plane')
    return api
  }

  /** One login of the administrator, at so many control planes. */
  async admins(count: number): Promise<Api[]> {
    const { accessToken } = await login(this.apiUrl, this.tenant, () => undefined)
    const urls = this.controlPlanePorts.slice(0, count).map(({ port }) => `http://127.0.0.1:${port}`)
    return urls.map((url) => new Api(url, accessToken))
  }

  /** @throws when transactions of its programs ever waited for each other in a circle: each lives by one order of locks (ARCHITECTURE.md) */
  async close(): Promise<void> {
    await Promise.all([...this.#programs.values()].map((program) => program.kill()))
    const deadlocks = await this.#deadlocks()
    await this.sql.end({ timeout: 5 })
    await this.#redis.stop()
    await this.#database.drop()
    rmSync(this.folder, { recursive: true, force: true })
    if (deadlocks > 0)
      throw new StandingFault(`${deadlocks} deadlocks: the log of Postgres tells between what`)
  }

  /** So far, in the database of the test run's server; one of its own may be gone by now. */
  async #deadlocks(): Promise<number> {
    if (!this.#shared) return 0
    const [row] = await this.sql<{ deadlocks: number }[]>`
      select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()`
    return row?.deadlocks ?? 0
  }

  #program(name: string): Program {
    const program = this.#programs.get(name)
    if (!program) throw new Error(`${name} was not started`)
    return program
  }
}

/** Where a system lives. */
interface Place {
  folder: string
  database: TestDatabase
  /** it is on the test run's server */
  shared: boolean
  gatewayUrls: string[]
  mqttUrls: string[]
  controlPlanePorts: { port: string; internalPort: string }[]
  /** of all programs: each takes from it what it knows */
  environment: Environment
  /** of the first gateway and the first control plane */
  ofFirst: OfFirst
}

export interface SystemOptions {
  gateways?: number
  /** so many processes that are API and worker at once, instead of one of each */
  controlPlanes?: number
  /** instead of one of the test run's server; dropped at the end all the same */
  database?: TestDatabase
  /** of all programs, over what is set otherwise */
  variables?: Environment
  /** told of each line of the first Redis's log */
  onRedisLog?: (line: string) => void
  /** of the last gateway and the last control plane alone */
  variablesOfLast?: Environment
  /** of the first ones, over what is set otherwise; also whenever they are started again */
  variablesOfFirst?: (environment: Readonly<Environment>) => Promise<OfFirst>
}

/** Brings everything up. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const { gateways = 1, controlPlanes = 0, variables = {}, variablesOfLast = {}, onRedisLog } = options
  const folder = mkdtempSync(join(tmpdir(), 'svc-system-'))
  const [redis, database] = await Promise.all([
    startRedis({ dir: join(folder, 'redis'), ...(onRedisLog && { onLog: onRedisLog }) }),
    options.database ?? testDatabase(),
  ])
  const shared = options.database === undefined
  const place = await placeAt(folder, database, redis.url, { gateways, controlPlanes, shared })
  Object.assign(place.environment, variables)
  Object.assign(place.ofFirst, await options.variablesOfFirst?.(place.environment))
  const system = new System(place, redis, await seed(place.environment))
  await installWitness(system.sql)
  const own = (index: number, all: readonly unknown[]) => (index === all.length - 1 ? variablesOfLast : {})
  await (controlPlanes > 0
    ? Promise.all(
        place.controlPlanePorts.map((_, index, all) => system.startControlPlane(index, own(index, all))),
      )
    : Promise.all([system.startRole('api'), system.startRole('worker')]))
  await Promise.all(place.gatewayUrls.map((_, index, all) => system.startGateway(index, own(index, all))))
  return system
}

async function placeAt(
  folder: string,
  database: TestDatabase,
  redisUrl: string,
  { gateways, controlPlanes, shared }: { gateways: number; controlPlanes: number; shared: boolean },
): Promise<Place> {
  const planes = Math.max(1, controlPlanes)
  const free = await Promise.all(Array.from({ length: 2 * planes + 2 * gateways }, () => freePort()))
  const ports = free.map(String)
  const controlPlanePorts = Array.from({ length: planes }, () => {
    const [port = '', internalPort = ''] = ports.splice(0, 2)
    return { port, internalPort }
  })
  const gatewayPorts = ports
  const { port, internalPort } = controlPlanePorts[0] ?? {}
  const gatewayUrls = gatewayPorts.slice(gateways).map((port) => `ws://127.0.0.1:${port}/agent`)
  const mqttUrls = gatewayPorts.slice(0, gateways).map((port) => `mqtt://127.0.0.1:${port}`)
  const overWebSocket = gatewayUrls.map((url) => url.replace('/agent', '/mqtt'))
  const environment = {
    NODE_ENV: 'test',
    ...numberVariables,
    DATABASE_URL: database.url,
    REDIS_URL: redisUrl,
    KEYS_DIR: join(folder, 'keys'),
    EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
    PORT: port ?? '',
    INTERNAL_PORT: internalPort ?? '',
    METRICS_PORT: '0',
    GATEWAY_METRICS_PORT: 'off',
    MQTT_PORT: 'off',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    MQTTS_PORT: 'off',
    GATEWAY_URLS: [...gatewayUrls, ...mqttUrls, ...overWebSocket].join(),
    EXCHANGE_URL: controlPlanePorts
      .map((at) => `http://127.0.0.1:${at.internalPort}/internal/edge/exchange`)
      .join(),
  }
  return {
    folder,
    database,
    shared,
    gatewayUrls,
    mqttUrls,
    controlPlanePorts,
    environment,
    ofFirst: { gateway: {}, controlPlane: {} },
  }
}

const open = (url: string): postgres.Sql =>
  postgres(url, {
    max: 4,
    connection: { search_path: 'svc' },
    onnotice: () => undefined,
    transform: postgres.camel,
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  })
