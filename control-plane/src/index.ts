import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bus, MemoryBus, RedisBus } from '@svc/proto/bus'
import { openLog, securityOf } from '@svc/proto/log'
import { openTracing, type Tracing } from '@svc/proto/trace'
import type { FastifyBaseLogger } from 'fastify'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Clock } from './adapters/clock.ts'
import type { Show } from './adapters/shown.ts'
import type { Config } from './config.ts'
import { type Core, openCore } from './core.ts'
import { egressMetrics } from './engines/egress/egress.ts'
import { noticeLife } from './engines/lives/notice.ts'
import { unreadableMetric } from './engines/secrets/metrics.ts'
import { offerMetrics } from './engines/work/offers.ts'
import { prepareSchema } from './db/prepare.ts'
import { type WorkerDb, workerDb } from './kernel/db.ts'
import type { Ports } from './kernel/ports.ts'
import { registerByCommand } from './server-command.ts'
import { measureBus } from './kernel/bus-metrics.ts'
import { measureClock } from './kernel/clock-metrics.ts'
import { measureLog } from './kernel/log-metrics.ts'
import { measureLoop } from './kernel/loop-metrics.ts'
import { measurePasswords } from './kernel/password-load.ts'
import { measurePools } from './kernel/pool-load.ts'
import { isJammed } from './kernel/pool-turns.ts'
import { type Readiness, readiness } from './kernel/readiness.ts'
import { poolSizes } from './pools.ts'
import { type Addresses, Listening, type Role } from './listening.ts'

export { HeadsFileError, headsFileName } from './adapters/heads-file.ts'
export { KeyError } from './adapters/key-files.ts'
export type { Show, Shown } from './adapters/shown.ts'
export {
  acceptByCommand,
  AuditFault,
  describeLosses,
  describeVerified,
  verifyByCommand,
} from './audit-command.ts'
export { type Config, ConfigError, readConfig } from './config.ts'
export { MigrationError } from './db/migrate.ts'
export { DatabaseError } from './db/prepare.ts'
export { ListenError } from './listeners.ts'
export type { Addresses, Role } from './listening.ts'
export { RotationError } from './engines/secrets/rotation.ts'
export { masterKeyCommands } from './master-key-command.ts'
export {
  createPartnerByCommand,
  platformAdminByCommand,
  registerFromFolder,
  releaseSsoByCommand,
} from './server-command.ts'
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
  /**
   * guards that a proof takes away, to see itself fail: `notice_restore`, without which a restored database is taken for the same;
   * `gap_notice`, without which what was missed while the bus was away is not looked for;
   * `standing_expiry`, without which what is remembered of users and keys is true until somebody says otherwise; `limits_insurance`, of
   * `openCore`; `shared_time`, of the same; `epochs`, without which what gateways say of connections that are over counts;
   * `generations` and `copies`, without which copies of a device are not noticed; `patience`, without which a database that does
   * not answer is waited for at the end
   */
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

/** What is cut off after DRAIN_MS is written down within this, where there is a database. */
const answersMs = 1_000

const makeBus = ({ redisUrl }: Config): Bus => (redisUrl ? new RedisBus(redisUrl) : new MemoryBus())

/** What a core needs that was opened before it must not outlive its failure. */
async function openOn(
  bus: Bus,
  closeBus: () => Promise<void>,
  options: ControlPlaneOptions,
  logger: FastifyBaseLogger,
  registry: Registry,
  tracing: Tracing,
): Promise<Core> {
  const egress = egressMetrics(registry)
  const security = securityOf(logger)
  try {
    return await openCore(options.config, bus, {
      ...(options.clock && { clock: options.clock }),
      ...(options.without && { without: options.without }),
      log: logger,
      onTime: {
        looked: measureClock(registry),
        failed: (error) =>
          logger.warn({ err: error }, 'the database did not say what time it is; asking again'),
        skewed: (byMs) =>
          byMs === 0
            ? logger.info({ event: 'clock.right' }, 'the clock of this host is right again')
            : logger.error(
                { event: 'clock.wrong', byMs },
                'the clock of this host is wrong; the time of the database is used',
              ),
      },
      tracing,
      security,
      onDatabase: (away) =>
        away
          ? logger.error('the database does not answer: requests are refused until it does')
          : logger.info('the database answers again'),
      onRedisError: (error) => logger.warn({ err: error }, 'redis, for rate limits'),
      onUsesUnwritten: (error) =>
        logger.warn({ err: error }, 'uses of API keys were not written down; trying again'),
      keys: {
        onUnreadable: ({ message }) => logger.error({ reason: message }, 'a sealed value does not open'),
        onTrouble: (error) => logger.error({ err: error }, 'master keys were not looked at; trying again'),
      },
      ...(options.without?.has('standing_expiry') && {
        remembering: { rememberMs: Number.POSITIVE_INFINITY },
      }),
      egress: {
        observe: egress.observe,
        onDenied: (denied) => {
          egress.onDenied(denied)
          security('egress.denied', 'a tenant’s address leads to the inside and was not asked', { denied })
        },
      },
      show:
        options.show ??
        ((shown) =>
          logger.info({ event: 'message.shown', shown }, 'not sent: nothing is configured to send it')),
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
  const logger =
    options.logger ??
    openLog({ service: 'control-plane', level: config.logLevel, role: options.role ?? 'all' }).log
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  // Gauges that are called as counters are; the same by kind is there without them.
  for (const what of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${what}_total`)
  const flaw = await prepareSchema({
    ...config,
    onApplied: (names) => logger.info({ names }, 'migrations applied'),
  })
  if (!config.mail) logger.warn('SMTP_URL is not set: no mail is sent')
  const bus = options.bus ?? makeBus(config)
  const unfollow = bus.onTrouble?.((error) => logger.warn({ err: error }, 'the bus cannot be used'))
  const unmeasure = measureBus(registry, bus)
  const closeBus = async () => {
    unfollow?.()
    unmeasure()
    if (!options.bus) await bus.close()
  }
  const tracing = await openTracing({
    endpoint: config.otlpEndpoint,
    ratio: config.traceRatio,
    service: 'control-plane',
    instance: `${hostname()}.${process.pid}`,
    version: config.version,
    failed: (error) => logger.warn({ err: error }, 'spans were not exported'),
  })
  const core = await openOn(bus, closeBus, options, logger, registry, tracing)
  measureLog(registry)
  measureLoop(registry)
  const { app, reserve, worker, edge } = core.pools
  measurePools(registry, { api: app, reserve, worker, edge }, poolSizes(config))
  measurePasswords(registry, core.ports.passwords)
  offerMetrics(registry, core.ports.trail)
  unreadableMetric(registry, core.ports.secrets)
  const db = workerDb(core.pools.worker, { kind: 'system' })
  const life = () =>
    noticeLife({ db, app: core.pools.app, askMs: config.pipeline.askAgainMs, security: securityOf(logger) })
  // Before anything is offered, swept or due: this may be a database that was restored.
  if (!without.has('notice_restore')) await life()
  let draining = false
  const ready = () =>
    readiness({
      sql: core.pools.reserve,
      bus,
      schema: () => flaw(core.pools.reserve),
      draining: () => draining,
      jammed: () => isJammed(core.pools.app),
    })
  const listening = new Listening({
    core,
    db,
    registry,
    logger,
    ready,
    role: options.role ?? 'all',
    ...(!without.has('notice_restore') && { life }),
    without,
  })

  /**
   * A database that says nothing at all would be waited for without an end. It is left when what runs has had its time; what was in hand
   * is another's when its lease is over. @param closed told no more of it once that is so
   */
  const outwait = async (closed: Promise<void>) => {
    const over = new AbortController()
    void closed.finally(() => over.abort()).catch(() => undefined)
    const wait = (ms: number) => sleep(ms, undefined, { signal: over.signal })
    const outwaited = async () => {
      await wait(config.drainMs + answersMs)
      logger.warn(
        { afterMs: config.drainMs },
        'the database does not answer: it is left with what was in hand',
      )
      void core.pools.abandon()
      await wait(answersMs)
    }
    await Promise.race([closed, outwaited().catch(() => closed)])
  }
  let serves = false
  const closeAll = async () => {
    draining = true
    if (serves) await sleep(config.drainDelayMs)
    const closed = listening.close().then(() => core.close())
    await (without.has('patience') ? closed : outwait(closed))
    await closeBus()
    await tracing.close()
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
