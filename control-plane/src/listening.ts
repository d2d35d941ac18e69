import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import { buildApp } from './app.ts'
import { routes } from './areas/index.ts'
import type { Core } from './core.ts'
import { followGaps } from './engines/work/gaps.ts'
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
  /** see `InboxDeps` and `PresentDeps`; `gap_notice`, without which what was missed while the bus was away is not looked for */
  without?: ReadonlySet<string>
}

/** What answers and works while the control plane is up; closes what was opened, also when opening stopped half-way. */
export class Listening {
  readonly #deps: ListeningDeps
  readonly #opened: (() => Promise<void>)[] = []
  #opening: Promise<unknown> = Promise.resolve()

  constructor(deps: ListeningDeps) {
    this.#deps = deps
  }

  open(): Promise<Addresses> {
    const opening = this.#open()
    this.#opening = opening.catch(() => undefined)
    return opening
  }

  /** What is still being opened is closed as well. */
  async close(): Promise<void> {
    await this.#opening
    await Promise.all(this.#opened.splice(0).map((close) => close()))
  }

  async #open(): Promise<Addresses> {
    const { role } = this.#deps
    const metricsUrl = await this.#metrics()
    const api = role === 'worker' ? {} : { internalUrl: await this.#internal(), apiUrl: await this.#api() }
    if (role !== 'api') await this.#work()
    this.#follow()
    return { metricsUrl, ...api }
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

  #follow(): void {
    const { core, db, logger, without } = this.#deps
    if (without?.has('gap_notice')) return
    const { heartbeatIntervalMs } = core.config
    this.#opened.push(followGaps({ db, bus: core.ports.bus, heartbeatIntervalMs, log: logger }))
  }

  #internal(): Promise<string> {
    const { core, logger, registry, life, without } = this.#deps
    const { edgeSharedKey, heartbeatIntervalMs, internalHost: host, internalPort: port } = core.config
    const { ports, pools } = core
    const app = internalApp({
      pool: pools.edge,
      ports,
      edgeSharedKey,
      heartbeatIntervalMs,
      registry,
      logger,
      security: core.kernel.security,
      ...(life && { life }),
      ...(without && { without }),
    })
    return this.#listen(app, { host, port, variable: 'INTERNAL_PORT' })
  }

  #listen(app: Parameters<typeof listenApp>[0], at: Address): Promise<string> {
    this.#opened.push(() => drainApp(app, this.#deps.core.config.drainMs))
    return listenApp(app, at)
  }

  async #work(): Promise<void> {
    const { core, db, logger, registry, without } = this.#deps
    const { drainMs } = core.config
    const worker = await startWorker({
      db,
      line: core.pools.line,
      ports: core.ports,
      log: logger,
      metrics: registry,
      security: core.kernel.security,
      drainMs,
      ...(without && { without }),
    })
    this.#opened.push(() => worker.close())
  }
}
