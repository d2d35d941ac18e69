import { setTimeout as sleep } from 'node:timers/promises'
import { type Bus, MemoryBus, RedisBus } from '@svc/proto/bus'
import type { FastifyBaseLogger } from 'fastify'
import { pino } from 'pino'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Clock } from './adapters/clock.ts'
import type { Show } from './adapters/shown.ts'
import type { Config } from './config.ts'
import { type Core, openCore } from './core.ts'
import { noticeLife } from './engines/lives/notice.ts'
import { prepareSchema } from './db/prepare.ts'
import { type WorkerDb, workerDb } from './kernel/db.ts'
import type { Ports } from './kernel/ports.ts'
import { registerByCommand } from './server-command.ts'
import { type Readiness, readiness } from './kernel/readiness.ts'
import { type Addresses, Listening, type Role } from './listening.ts'

export { KeyError } from './adapters/keys.ts'
export type { Show, Shown } from './adapters/shown.ts'
export { type Config, ConfigError, readConfig } from './config.ts'
export { MigrationError } from './db/migrate.ts'
export { DatabaseError } from './db/prepare.ts'
export { ListenError } from './listeners.ts'
export type { Addresses, Role } from './listening.ts'
export { platformAdminByCommand, registerFromFolder } from './server-command.ts'
export { addEnrollmentKey, type Demo, type DemoNames, seedDemo, setPlatformAdmin } from './seed.ts'

export interface ControlPlaneOptions {
  config: Config
  /** shared with a gateway in the same process; absent: made from REDIS_URL and closed with the rest */
  bus?: Bus
  clock?: Clock
  logger?: FastifyBaseLogger
  /** `api` answers HTTP, `worker` does what happens without a request; default both */
  role?: Role
  /** what shows mails and text messages to the host where nothing is configured to send them; default: the log. Never in production */
  show?: Show
  /** guards that a proof takes away, to see itself fail: `notice_restore`, without which a restored database is taken for the same */
  without?: ReadonlySet<string>
}

export interface ControlPlane {
  readonly ports: Ports
  /** the database as background work sees it, in scope `system` */
  readonly db: WorkerDb
  /** Starts answering and working. @throws ListenError */
  listen(): Promise<Addresses>
  ready(): Promise<Readiness>
  /** Registers a release as the platform’s administrator does; undefined when its source has none of that version. @throws ApiError */
  registerRelease(version: string): ReturnType<typeof registerByCommand>
  /** Is not ready for DRAIN_DELAY_MS, stops accepting, finishes what runs (DRAIN_MS), closes everything it opened. Idempotent. */
  close(): Promise<void>
}

const makeBus = ({ redisUrl }: Config): Bus => (redisUrl ? new RedisBus(redisUrl) : new MemoryBus())

/** What a core needs that was opened before it must not outlive its failure. */
async function openOn(
  bus: Bus,
  closeBus: () => Promise<void>,
  options: ControlPlaneOptions,
  logger: FastifyBaseLogger,
): Promise<Core> {
  try {
    return await openCore(options.config, bus, {
      ...(options.clock && { clock: options.clock }),
      onRedisError: (error) => logger.warn({ err: error }, 'redis, for rate limits'),
      onUsesUnwritten: (error) =>
        logger.warn({ err: error }, 'uses of API keys were not written down; trying again'),
      show: options.show ?? ((shown) => logger.info({ shown }, 'not sent: nothing is configured to send it')),
    })
  } catch (error) {
    await closeBus()
    throw error
  }
}

/**
 * The control plane of one process. When this resolves its database is migrated and its keys are open; it listens when it is told.
 *
 * @throws DatabaseError, MigrationError, KeyError: one line each
 */
export async function buildControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const { config, without = new Set() } = options
  const logger = options.logger ?? pino({ level: config.logLevel })
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const flaw = await prepareSchema({
    ...config,
    onApplied: (names) => logger.info({ names }, 'migrations applied'),
  })
  if (!config.mail) logger.warn('SMTP_URL is not set: no mail is sent')
  const bus = options.bus ?? makeBus(config)
  const closeBus = async () => {
    if (!options.bus) await bus.close()
  }
  const core = await openOn(bus, closeBus, options, logger)
  const db = workerDb(core.pools.worker, { kind: 'system' })
  const life = () => noticeLife({ db, app: core.pools.app, askMs: config.pipeline.askAgainMs, log: logger })
  // Before anything is offered, swept or due: this may be a database that was restored.
  if (!without.has('notice_restore')) await life()
  let draining = false
  const ready = () =>
    readiness({ sql: core.pools.app, bus, schema: () => flaw(core.pools.worker), draining: () => draining })
  const listening = new Listening({
    core,
    db,
    registry,
    logger,
    ready,
    role: options.role ?? 'all',
    ...(!without.has('notice_restore') && { life }),
  })

  let serves = false
  const closeAll = async () => {
    draining = true
    if (serves) await sleep(config.drainDelayMs)
    await listening.close()
    await core.close()
    await closeBus()
  }
  let closing: Promise<void> | undefined
  return {
    ports: core.ports,
    db,
    ready,
    listen: async () => {
      const addresses = await listening.open()
      serves = true
      return addresses
    },
    registerRelease: (version) => registerByCommand(core.pools.app, core.ports, version),
    close: () => {
      closing ??= closeAll()
      return closing
    },
  }
}
