import { isIP } from 'node:net'
import type { Bus } from '@svc/proto/bus'
import { type SecurityLog, silently } from '@svc/proto/log'
import { noTracing, type Tracing } from '@svc/proto/trace'
import { Redis } from 'ioredis'
import { v7 as uuid } from 'uuid'
import { type Clock, systemClock } from './adapters/clock.ts'
import { DatabaseClock, type DatabaseClockOptions } from './adapters/database-clock.ts'
import { type KeyPair, openKeySet } from './adapters/keys.ts'
import { localReleases } from './adapters/binaries.ts'
import { oidcOf } from './adapters/oidc/client.ts'
import type { Mailer } from './adapters/mail/mail.ts'
import { smtpMail } from './adapters/mail/smtp.ts'
import { argon2Passwords } from './adapters/passwords.ts'
import { hostedReleases } from './adapters/release-host.ts'
import type { ReleaseSource } from './adapters/releases.ts'
import { type Show, shownMail, shownSms } from './adapters/shown.ts'
import { httpSms } from './adapters/sms/http.ts'
import type { Sms } from './adapters/sms/sms.ts'
import { twilioSms } from './adapters/sms/twilio.ts'
import { openSigningKeys } from './adapters/signing-keys.ts'
import { tokensOf } from './adapters/tokens.ts'
import { totpOf } from './adapters/totp.ts'
import { headKeyPurpose } from './audit-command.ts'
import type { Config } from './config.ts'
import { type EgressOptions, makeEgress } from './engines/egress/egress.ts'
import { type Trail, type TrailLog, trailOf } from './engines/work/trail.ts'
import { type Holding, holdKeys, type HoldOptions } from './engines/secrets/hold.ts'
import type { Keyring } from './engines/secrets/keyring.ts'
import { declareTasks } from './engines/schedule/queue/enqueue.ts'
import { UpdateDesk } from './engines/updates/desk.ts'
import { tasks } from './jobs.ts'
import { identifyWith } from './kernel/caller.ts'
import { openApiKeys } from './kernel/api-keys.ts'
import { openCallers } from './kernel/callers.ts'
import type { Remembering } from './kernel/fresh-cache.ts'
import { limitsOf } from './kernel/counters.ts'
import { workerDb } from './kernel/db.ts'
import { answerWithinMs } from './kernel/deadline.ts'
import { KeyUses } from './kernel/key-uses.ts'
import type { Kernel } from './kernel/kernel.ts'
import { cursors } from './kernel/page.ts'
import type { Ports } from './kernel/ports.ts'
import { openPools, type Pools } from './pools.ts'

/** Everything that both the API and background work stand on: pools, keys, ports. */
export interface Core {
  config: Config
  pools: Pools
  ports: Ports & {
    updates: UpdateDesk
    trail: Trail
    secrets: Keyring
    /** signs ends of the audit log's chains */
    headKey: () => KeyPair
  }
  /** the master keys, as this process has them */
  keys: Holding
  kernel: Kernel
  /** Idempotent. The bus is its owner's to close. */
  close(): Promise<void>
}

/** For limits alone: answers at once or not at all, since the insurance is at hand. */
const openRedis = (url: string) =>
  new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 500,
    lazyConnect: false,
  })

/** Where BINARY_SOURCE says that releases are. */
function releasesOf({ binarySource, binaryDir = '', releaseHost }: Config): ReleaseSource {
  return binarySource === 'local' ? localReleases(binaryDir) : hostedReleases(releaseHost)
}

/** Where none is configured no mail is queued; one that was queued before waits for a server that sends. */
const noMail: Mailer = {
  send: async () => {
    throw new Error('SMTP_URL is not set')
  },
  close: () => undefined,
}

function mailerOf({ mail }: Config, show: Show): Mailer {
  if (!mail) return noMail
  return mail.driver === 'smtp' ? smtpMail(mail) : shownMail(show)
}

function smsFor({ sms }: Config, show: Show): Sms | undefined {
  switch (sms?.driver) {
    case undefined:
      return undefined
    case 'log':
      return shownSms(show)
    case 'http':
      return httpSms(sms)
    case 'twilio':
      return twilioSms(sms)
  }
}

/** Names of this server and of what it stands on: no tenant has business there, wherever they lead. */
function ownNames(config: Config): string[] {
  const { publicUrl, databaseUrl, databaseAppUrl, databaseWorkerUrl, redisUrl, mail } = config
  const urls = [publicUrl, databaseUrl, databaseAppUrl, databaseWorkerUrl, redisUrl]
  if (mail?.driver === 'smtp') urls.push(mail.url)
  const names = urls.flatMap((url) => (url === undefined ? [] : [new URL(url).hostname.toLowerCase()]))
  // An address is looked at by its range, and so is the machine itself.
  return names.filter(
    (name) => name !== '' && name !== 'localhost' && isIP(name.replace(/^\[|\]$/g, '')) === 0,
  )
}

/** Work that was started after an answer; closing waits for it. */
function backgroundWork() {
  const running = new Set<Promise<unknown>>()
  return {
    add(work: Promise<unknown>) {
      running.add(work)
      void work.finally(() => running.delete(work))
    },
    done: async () => {
      await Promise.allSettled(running)
    },
  }
}

const untold: DatabaseClockOptions = { failed: () => undefined, skewed: () => undefined }

/**
 * Opens what one process of the control plane needs. The database is migrated already.
 *
 * @throws KeyError in one line when KEYS_DIR does not fit this database
 */
export async function openCore(
  config: Config,
  bus: Bus,
  options: {
    /** default: the database's time */
    clock?: Clock
    /** told where the database does not say what time it is, and by how much the host's clock is wrong */
    onTime?: DatabaseClockOptions
    onRedisError?: (error: Error) => void
    /** told when the database is away, and when it is back */
    onDatabase?: (away: boolean) => void
    /** how long a request waits for a connection to the database, in milliseconds; see `pools.ts` */
    turnWithinMs?: number
    /** uses of API keys that could not be written; they are kept and tried again */
    onUsesUnwritten?: (error: unknown) => void
    /** told of values that do not open, and of master keys that this process should have */
    keys?: HoldOptions
    /** told of each mail and text message that nothing is configured to send; default: they are shown to nobody */
    show?: Show
    /** what is told of calls to tenants' addresses, and what a test changes of them beyond the configuration */
    egress?: Partial<EgressOptions>
    /** where what becomes of commands is told; default: nowhere */
    log?: TrailLog
    /** default: nothing is exported */
    tracing?: Tracing
    /** default: silent */
    security?: SecurityLog
    /** how long it is remembered who may do what; see `kernel/fresh-cache.ts` */
    remembering?: Remembering
    /**
     * guards that a proof takes away: `limits_insurance`, without which limits that count in Redis are a fault while it is away;
     * `shared_time`, without which time is the host's; and those of {@link openPools}
     */
    without?: ReadonlySet<string>
  } = {},
): Promise<Core> {
  const pools = openPools(config, {
    changed: options.onDatabase,
    without: options.without,
    turnWithinMs: options.turnWithinMs,
  })
  const redis = config.redisUrl ? openRedis(config.redisUrl) : undefined
  redis?.on('error', (error: Error) => options.onRedisError?.(error))
  let keys: Holding | undefined
  let ownClock: DatabaseClock | undefined
  try {
    if (!options.clock && !options.without?.has('shared_time'))
      ownClock = await DatabaseClock.open(pools.edge, options.onTime ?? untold)
    const clock = options.clock ?? ownClock ?? systemClock
    const remembering = { now: () => clock.now().getTime(), ...options.remembering }
    await declareTasks(workerDb(pools.worker, { kind: 'system' }), tasks)
    keys = await holdKeys(pools.worker, config.keysDir, options.keys)
    const held = keys
    const secrets = held.ring
    const tokens = tokensOf(openKeySet(config.keysDir, 'jwt'), config.publicUrl, clock)
    const headKeys = openKeySet(config.keysDir, headKeyPurpose)
    const callers = await openCallers(pools.reserve, bus, remembering)
    const limits = limitsOf(pools.limits, redis, clock, !options.without?.has('limits_insurance'))
    const apiKeys = await openApiKeys(pools.app, bus, limits, remembering)
    const keyUses = new KeyUses(pools.app, (error) => options.onUsesUnwritten?.(error))
    const background = backgroundWork()
    const { show = () => undefined, tracing = noTracing, security = silently } = options
    const mailer = mailerOf(config, show)
    const egress = makeEgress({ ...config.egress, ownNames: ownNames(config), ...options.egress })
    const ports: Core['ports'] = {
      config,
      clock,
      bus,
      node: `api-${uuid()}`,
      tokens,
      passwords: argon2Passwords(),
      totp: totpOf(clock),
      secrets,
      mailer,
      sms: smsFor(config, show),
      egress,
      oidc: oidcOf(egress),
      signingKeys: openSigningKeys(config.keysDir),
      headKey: () => headKeys.current(),
      releases: releasesOf(config),
      updates: new UpdateDesk(config.pipeline),
      trail: trailOf(tracing, options.log),
      limits,
      callers,
      apiKeys,
      cursors: cursors(() => secrets.derivedAll('cursor')),
    }
    const kernel: Kernel = {
      ports,
      pool: pools.app,
      reserve: pools.reserve,
      identify: identifyWith({ tokens, callers, apiKeys, clock, enable2fa: config.enable2fa }),
      keyUses,
      sealKeys: () => secrets.derivedAll('idempotency'),
      answerWithinMs,
      tracing,
      security,
      background: (work) => background.add(work),
    }
    const closeAll = async () => {
      ownClock?.close()
      callers.close()
      apiKeys.close()
      await egress.close()
      await background.done()
      await keyUses.close()
      mailer.close()
      redis?.disconnect()
      await held.close()
      await pools.close()
    }
    let closing: Promise<void> | undefined
    return {
      config,
      pools,
      ports,
      keys: held,
      kernel,
      close: () => (closing ??= closeAll()),
    }
  } catch (error) {
    ownClock?.close()
    redis?.disconnect()
    await keys?.close()
    await pools.close()
    throw error
  }
}
