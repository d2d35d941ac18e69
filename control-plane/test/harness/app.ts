import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Bus, MemoryBus } from '@svc/proto/bus'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, inject } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { routes as allRoutes } from '../../src/areas/index.ts'
import type { Shown } from '../../src/adapters/shown.ts'
import { type Database, openPool } from '../../src/adapters/postgres.ts'
import type { Config } from '../../src/config.ts'
import { readConfig } from '../../src/config.ts'
import { type Core, openCore } from '../../src/core.ts'
import { type WorkerDb, workerDb } from '../../src/kernel/db.ts'
import type { Kernel } from '../../src/kernel/kernel.ts'
import type { EgressOptions } from '../../src/engines/egress/egress.ts'
import { isJammed } from '../../src/kernel/pool-turns.ts'
import { readiness } from '../../src/kernel/readiness.ts'
import type { Route } from '../../src/kernel/route.ts'
import { TestClock } from './clock.ts'
import { databaseForFile } from './database.ts'
import { type Make, makeFor } from './make.ts'
import { type People, peopleFor, type Person } from './people.ts'
import { releasePublicKey } from './release.ts'

/** An answer, its body read. */
export interface Answer {
  status: number
  headers: Record<string, string | string[] | number | undefined>
  body: any // oxlint-disable-line typescript/no-explicit-any -- tests look into answers of every shape
}

export interface Request {
  body?: unknown
  headers?: Record<string, string>
  query?: Record<string, string>
  remoteAddress?: string
}

/** The API over one test file's own database. */
export interface TestApp {
  app: FastifyInstance
  core: Core
  config: Config
  bus: Bus
  clock: TestClock
  url: string
  /** the database as background work sees it, in scope `system` */
  db: WorkerDb
  /** the superuser's connection: sees and may do everything */
  owner: Database
  make: Make
  people: People
  /** mail and text messages that left, since nothing is configured to send them; mail leaves by a worker (harness/outbox.ts) */
  shown: Shown[]
  /** `request('GET /devices', someone)`; paths are relative to `/api/v1`. Nobody: no credential. */
  request: (what: `${string} /${string}`, as?: Person | null, more?: Request) => Promise<Answer>
  close: () => Promise<void>
}

const logger = () => pino({ level: process.env['TEST_LOG'] ?? 'silent' })

const newFolder = (name: string) => mkdtempSync(join(inject('folder'), `${name}-`))

/** Configuration of a test: everything on loopback, no Redis, keys in a folder of its own. */
export const testConfig = (databaseUrl: string, more: Record<string, string> = {}) =>
  readConfig({
    NODE_ENV: 'test',
    DATABASE_URL: databaseUrl,
    DATABASE_POOL: '4',
    KEYS_DIR: more['KEYS_DIR'] ?? newFolder('keys'),
    EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
    PORT: '0',
    INTERNAL_PORT: '0',
    METRICS_PORT: '0',
    PUBLIC_URL: 'http://svc.test',
    ENABLE_REGISTRATION: 'true',
    GATEWAY_URLS: 'ws://127.0.0.1:8443/agent',
    BINARY_SOURCE: 'local',
    BINARY_DIR: newFolder('releases'),
    RELEASE_KEYS: releasePublicKey,
    ...more,
  })

async function readAnswer(app: FastifyInstance, options: InjectOptions): Promise<Answer> {
  const response = await app.inject(options)
  const isJson =
    String(response.headers['content-type']).startsWith('application/json') && response.body !== ''
  return {
    status: response.statusCode,
    headers: response.headers,
    body: isJson ? response.json() : response.body,
  }
}

/** Asks this app as {@link TestApp.request} does. */
export function requester(app: FastifyInstance): TestApp['request'] {
  return async (what, as, more = {}) => {
    const [method, path] = what.split(' ') as [NonNullable<InjectOptions['method']>, string]
    return readAnswer(app, {
      method,
      url: `/api/v1${path}`,
      headers: { ...(as && { authorization: `Bearer ${await as.token()}` }), ...more.headers },
      ...(more.body !== undefined && { payload: more.body as object }),
      ...(more.query && { query: more.query }),
      ...(more.remoteAddress && { remoteAddress: more.remoteAddress }),
    })
  }
}

/**
 * The API of one test file: its own database, closed and dropped after the file. Call at the top level of a `*.db.test.ts`.
 *
 * @param options `env`: variables on top of the test's, or what makes them of the database's URL; `routes`: another table than the
 * product's; `bus`: for redis tests; `kernel`: what the API stands on, changed; `egress` and `turnWithinMs`: as `openCore` takes them
 */
export async function testApp(
  options: {
    env?: Record<string, string> | ((databaseUrl: string) => Record<string, string>)
    routes?: readonly Route[]
    bus?: Bus
    kernel?: (made: Kernel) => Kernel
    egress?: Partial<EgressOptions>
    turnWithinMs?: number
  } = {},
): Promise<TestApp> {
  const database = await databaseForFile()
  const env = typeof options.env === 'function' ? options.env(database.url) : options.env
  const config = testConfig(database.url, env)
  const bus = options.bus ?? new MemoryBus()
  const clock = new TestClock()
  const shown: Shown[] = []
  const core = await openCore(config, bus, {
    clock,
    show: (it) => shown.push(it),
    turnWithinMs: options.turnWithinMs ?? 60_000, // however busy the machine is
    ...(options.egress && { egress: options.egress }),
  })
  const ready = () =>
    readiness({
      sql: core.pools.reserve,
      bus,
      schema: async () => undefined,
      draining: () => false,
      jammed: () => isJammed(core.pools.app),
    })
  const app = await buildApp({
    config,
    logger: logger(),
    kernel: options.kernel ? options.kernel(core.kernel) : core.kernel,
    routes: options.routes ?? allRoutes,
    registry: new Registry(),
    ready,
  })
  const db = workerDb(core.pools.worker, { kind: 'system' })
  const owner = openPool({ url: database.url, max: 2, name: 'test' })
  const make = makeFor(db, owner)
  const close = async () => {
    await app.close()
    await core.close()
    await owner.end({ timeout: 1 })
    if (!options.bus) await bus.close()
    rmSync(config.keysDir, { recursive: true, force: true })
  }
  afterAll(close)
  return {
    app,
    core,
    config,
    bus,
    clock,
    url: database.url,
    db,
    owner,
    make,
    people: peopleFor(make, core.ports),
    shown,
    request: requester(app),
    close,
  }
}
