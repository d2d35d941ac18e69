import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { type Program, startProgram } from '../../../../agent-sim/test/system/harness/program.ts'
import { seed, type Tenant } from '../../../../agent-sim/test/system/harness/seed.ts'
import { freePort, type Postgres, type Redis, startPostgres, startRedis } from '../../../../tools/services.ts'
import type { Ground } from '../../method/contract.ts'
import { Caller } from './caller.ts'
import { type Devices, fillDevices, type Place } from './devices.ts'
import { cores, pin } from '../../method/pin.ts'
import { pinServers } from './pin.ts'

/** As a server for tens of thousands of devices is set, and nothing that gives safety away: fsync and synchronous_commit are on. */
const settings = {
  shared_buffers: '1GB',
  effective_cache_size: '4GB',
  work_mem: '16MB',
  maintenance_work_mem: '256MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  random_page_cost: '1.1',
  jit: 'off',
}

/** The settings for people: they are the same for every side. */
export const settingsText = Object.entries({ fsync: 'on', synchronous_commit: 'on', ...settings })
  .map((pair) => pair.join('='))
  .join(' ')

const databaseName = 'bench'

/**
 * Database, Redis and the product's processes, as an operator runs them: bundled, each a process of its own, all of them on the server's core,
 * while what measures them has the other one.
 */
export class Stage {
  readonly postgres: Postgres
  readonly redis: Redis
  /** the superuser's view: no role, scope or policy of the product is in between */
  readonly sql: postgres.Sql
  readonly databaseUrl: string
  readonly tenant: Tenant
  readonly place: Place
  readonly apiUrl: string
  readonly metricsUrl: string
  readonly #environment: Record<string, string>
  readonly #ground: Ground
  readonly #programs = new Map<string, Program>()

  constructor(
    ground: Ground,
    servers: { postgres: Postgres; redis: Redis; databaseUrl: string; sql: postgres.Sql },
    seeded: { tenant: Tenant; place: Place },
    environment: Record<string, string>,
  ) {
    this.#ground = ground
    this.postgres = servers.postgres
    this.redis = servers.redis
    this.databaseUrl = servers.databaseUrl
    this.sql = servers.sql
    this.tenant = seeded.tenant
    this.place = seeded.place
    this.#environment = environment
    this.apiUrl = environment['PUBLIC_URL'] ?? ''
    this.metricsUrl = `http://127.0.0.1:${environment['METRICS_PORT']}/metrics`
  }

  /** Starts the control plane in that role, with more settings where a bench needs them. Ended with the ground. */
  async startControlPlane(role: 'api' | 'worker', settings: Record<string, string> = {}): Promise<Program> {
    // Two processes, one port: only the API is asked for its event loop.
    const metrics = role === 'api' ? {} : { METRICS_PORT: '0' }
    const variables = { ...metrics, ...settings }
    return this.#start(role, 'control-plane', ['--role', role], /control plane is up/, variables)
  }

  async startGateway(port: number): Promise<Program> {
    return this.#start('gateway', 'gateway', [], /accepting agents/, { GATEWAY_PORT: String(port) })
  }

  /** Starts a program and puts it where servers run. */
  async #start(
    name: string,
    entry: string,
    args: string[],
    ready: RegExp,
    variables: Record<string, string>,
  ): Promise<Program> {
    const env = { ...this.#environment, ...variables }
    const program = await startProgram({ entry, args, env, ready })
    this.#ground.afterwards(() => program.stop())
    this.#programs.set(name, program)
    pinServers(program.pid)
    return program
  }

  /** A caller who has logged in; goes on being one while the bench lasts. */
  caller(): Promise<Caller> {
    return Caller.login(this.apiUrl, this.tenant)
  }
}

/**
 * Brings up the servers with these devices in them. No process of the product runs yet.
 * @param name of its folder: a bench may have several at once
 */
export async function openStage(ground: Ground, devices: Devices, name = 'stage'): Promise<Stage> {
  const folder = join(ground.folder, name)
  mkdirSync(folder, { mode: 0o711 })
  // The database may run as a user that has to get through.
  chmodSync(ground.folder, 0o711)
  pin(process.pid, cores.client)
  ground.progress('starting database and Redis')
  const database = await startPostgres({
    dataDir: join(folder, 'postgres'),
    settings,
    onNotice: (line) => ground.progress(line),
  })
  ground.afterwards(async () => {
    await database.stop()
    rmSync(database.dataDir, { recursive: true, force: true })
  })
  const redis = await startRedis({ dir: join(folder, 'redis') })
  ground.afterwards(() => redis.stop())
  pinServers(database.pid, redis.pid)
  const databaseUrl = await createDatabase(database.url)
  const environment = await environmentFor(folder, databaseUrl, redis.url)
  const tenant = await seed(environment)
  const sql = open(databaseUrl)
  ground.afterwards(() => sql.end({ timeout: 5 }))
  const { organizationId, siteId } = tenant
  const [row] = await sql<{ partnerId: string; userId: string }[]>`
    select o.partner_id as "partnerId", m.user_id as "userId"
    from organizations o join partner_memberships m on m.partner_id = o.partner_id where o.id = ${organizationId}`
  if (!row) throw new Error('the tenant that was just made is not there')
  const place = { ...row, organizationId, siteId }
  ground.progress(`filling in ${devices.count} devices of ${devices.tenants} tenants`)
  await fillDevices(sql, place, devices)
  return new Stage(ground, { postgres: database, redis, databaseUrl, sql }, { tenant, place }, environment)
}

async function createDatabase(url: string): Promise<string> {
  const admin = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    await admin`create database ${admin(databaseName)}`
  } finally {
    await admin.end()
  }
  const own = new URL(url)
  own.pathname = `/${databaseName}`
  return own.href
}

const open = (url: string): postgres.Sql =>
  postgres(url, { max: 2, connection: { search_path: 'svc' }, onnotice: () => undefined })

/** What an operator sets, and nothing else: limits, times and pools are the product's own. */
async function environmentFor(folder: string, databaseUrl: string, redisUrl: string) {
  const ports = await Promise.all(Array.from({ length: 3 }, () => freePort()))
  const [port = '', internalPort = '', metricsPort = ''] = ports.map(String)
  return {
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    KEYS_DIR: join(folder, 'keys'),
    EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
    PORT: port,
    INTERNAL_PORT: internalPort,
    METRICS_PORT: metricsPort,
    GATEWAY_METRICS_PORT: 'off',
    MQTT_PORT: 'off',
    MQTTS_PORT: 'off',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    EXCHANGE_URL: `http://127.0.0.1:${internalPort}/internal/edge/exchange`,
  }
}
