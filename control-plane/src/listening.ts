import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import { buildApp } from './app.ts'
import { routes } from './areas/index.ts'
import type { Core } from './core.ts'
import { internalApp } from './internal/app.ts'
import type { WorkerDb } from './kernel/db.ts'
import type { Readiness } from './kernel/readiness.ts'
import { type Address, closeServer, drainApp, listenApp, listenServer, metricsServer } from './listeners.ts'
import { startWorker } from './worker.ts'

export type Role = 'api' | 'worker' | 'all'

export interface Addresses {
  /** absent in role `worker`, as is `internalUrl` */
  apiUrl?: string
  internalUrl?: string
  metricsUrl: string
}

export interface ListeningDeps {
  core: Core
  db: WorkerDb
  registry: Registry
  logger: FastifyBaseLogger
  ready: () => Promise<Readiness>
  role: Role
  /** the number of the database's present life; absent: gateways are not told of it */
  life?: () => Promise<number>
}

/** What answers and works while the control plane is up; closes what was opened, also when opening stopped half-way. */
export class Listening {
  readonly #deps: ListeningDeps
  readonly #opened: (() => Promise<void>)[] = []

  constructor(deps: ListeningDeps) {
    this.#deps = deps
  }

  async open(): Promise<Addresses> {
    const { role } = this.#deps
    const metricsUrl = await this.#metrics()
    const api = role === 'worker' ? {} : { internalUrl: await this.#internal(), apiUrl: await this.#api() }
    if (role !== 'api') await this.#work()
    return { metricsUrl, ...api }
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.splice(0).map((close) => close()))
  }

  #metrics(): Promise<string> {
    const { registry, core } = this.#deps
    const server = metricsServer(registry)
    this.#opened.push(() => closeServer(server))
    const { metricsHost: host, metricsPort: port } = core.config
    return listenServer(server, { host, port, variable: 'METRICS_PORT' }).then((url) => `${url}/metrics`)
  }

  async #api(): Promise<string> {
    const { core, logger, registry, ready } = this.#deps
    const { config, kernel } = core
    const app = await buildApp({ config, logger, kernel, routes, registry, ready })
    return this.#listen(app, { host: config.host, port: config.port, variable: 'PORT' })
  }

  #internal(): Promise<string> {
    const { core, logger, registry, life } = this.#deps
    const { edgeSharedKey, heartbeatIntervalMs, internalHost: host, internalPort: port } = core.config
    const { ports, pools } = core
    const app = internalApp({
      pool: pools.worker,
      ports,
      edgeSharedKey,
      heartbeatIntervalMs,
      registry,
      logger,
      ...(life && { life }),
    })
    return this.#listen(app, { host, port, variable: 'INTERNAL_PORT' })
  }

  #listen(app: Parameters<typeof listenApp>[0], at: Address): Promise<string> {
    this.#opened.push(() => drainApp(app, this.#deps.core.config.drainMs))
    return listenApp(app, at)
  }

  async #work(): Promise<void> {
    const { core, db, logger, registry } = this.#deps
    const { drainMs } = core.config
    const worker = await startWorker({ db, ports: core.ports, log: logger, metrics: registry, drainMs })
    this.#opened.push(() => worker.close())
  }
}
