import type { Bus } from '@svc/proto/bus'
import { Redis } from 'ioredis'
import { v7 as uuid } from 'uuid'
import { type Clock, systemClock } from './adapters/clock.ts'
import { openKeySet } from './adapters/keys.ts'
import { localReleases } from './adapters/binaries.ts'
import type { Mailer } from './adapters/mail/mail.ts'
import { smtpMail } from './adapters/mail/smtp.ts'
import { argon2Passwords } from './adapters/passwords.ts'
import { type Database, openPool } from './adapters/postgres.ts'
import { hostedReleases } from './adapters/release-host.ts'
import type { ReleaseSource } from './adapters/releases.ts'
import { type Show, shownMail, shownSms } from './adapters/shown.ts'
import { httpSms } from './adapters/sms/http.ts'
import type { Sms } from './adapters/sms/sms.ts'
import { twilioSms } from './adapters/sms/twilio.ts'
import { openSigningKeys } from './adapters/signing-keys.ts'
import { tokensOf } from './adapters/tokens.ts'
import { totpOf } from './adapters/totp.ts'
import type { Config } from './config.ts'
import { secretsOf } from './engines/secrets/envelope.ts'
import { masterKeyFor } from './engines/secrets/master.ts'
import { declareTasks } from './engines/schedule/queue/enqueue.ts'
import { UpdateDesk } from './engines/updates/desk.ts'
import { tasks } from './jobs.ts'
import { identifyWith } from './kernel/caller.ts'
import { openApiKeys } from './kernel/api-keys.ts'
import { openCallers } from './kernel/callers.ts'
import { limitsOf } from './kernel/counters.ts'
import { workerDb } from './kernel/db.ts'
import { KeyUses } from './kernel/key-uses.ts'
import type { Kernel } from './kernel/mount.ts'
import { cursors } from './kernel/page.ts'
import type { Ports } from './kernel/ports.ts'

/** Connections to the one database, by what they may do. */
export interface Pools {
  /** role svc_app: the API */
  app: Database
  /** role svc_worker: background work, and the internal listener */
  worker: Database
  close(): Promise<void>
}

/** Counts of limits are made while a request holds a connection of the API's pool: they must never wait for that pool. */
const limitConnections = 2

export function openPools(config: Config): Pools & { limits: Database } {
  const max = config.databasePool
  const app = openPool({
    url: config.databaseAppUrl ?? config.databaseUrl,
    role: 'svc_app',
    max,
    name: 'svc-api',
  })
  const limits = openPool({
    url: config.databaseAppUrl ?? config.databaseUrl,
    role: 'svc_app',
    max: limitConnections,
    name: 'svc-limits',
  })
  const worker = openPool({
    url: config.databaseWorkerUrl ?? config.databaseUrl,
    role: 'svc_worker',
    max,
    name: 'svc-worker',
  })
  return {
    app,
    limits,
    worker,
    close: async () => {
      await Promise.all([app, limits, worker].map((pool) => pool.end({ timeout: 5 })))
    },
  }
}

/** Everything that both the API and background work stand on: pools, keys, ports. */
export interface Core {
  config: Config
  pools: Pools
  ports: Ports & { updates: UpdateDesk }
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

/**
 * Opens what one process of the control plane needs. The database is migrated already.
 *
 * @throws KeyError in one line when KEYS_DIR does not fit this database
 */
export async function openCore(
  config: Config,
  bus: Bus,
  options: {
    clock?: Clock
    onRedisError?: (error: Error) => void
    /** uses of API keys that could not be written; they are kept and tried again */
    onUsesUnwritten?: (error: unknown) => void
    /** told of each mail and text message that nothing is configured to send; default: they are shown to nobody */
    show?: Show
  } = {},
): Promise<Core> {
  const clock = options.clock ?? systemClock
  const pools = openPools(config)
  const redis = config.redisUrl ? openRedis(config.redisUrl) : undefined
  redis?.on('error', (error: Error) => options.onRedisError?.(error))
  try {
    const [masterKey] = await Promise.all([
      masterKeyFor(pools.worker, config.keysDir),
      declareTasks(workerDb(pools.worker, { kind: 'system' }), tasks),
    ])
    const secrets = secretsOf(masterKey)
    const tokens = tokensOf(openKeySet(config.keysDir, 'jwt'), config.publicUrl, clock)
    const callers = await openCallers(pools.app, bus)
    const limits = limitsOf(pools.limits, redis, clock)
    const apiKeys = await openApiKeys(pools.app, bus, limits)
    const keyUses = new KeyUses(pools.app, (error) => options.onUsesUnwritten?.(error))
    const background = backgroundWork()
    const { show = () => undefined } = options
    const mailer = mailerOf(config, show)
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
      signingKeys: openSigningKeys(config.keysDir),
      releases: releasesOf(config),
      updates: new UpdateDesk(config.pipeline),
      limits,
      callers,
      apiKeys,
      cursors: cursors(secrets.derive('cursor')),
    }
    const kernel: Kernel = {
      ports,
      pool: pools.app,
      identify: identifyWith({ tokens, callers, apiKeys, clock, enable2fa: config.enable2fa }),
      keyUses,
      sealKey: secrets.derive('idempotency'),
      background: (work) => background.add(work),
    }
    const closeAll = async () => {
      callers.close()
      apiKeys.close()
      await background.done()
      await keyUses.close()
      mailer.close()
      redis?.disconnect()
      await pools.close()
    }
    let closing: Promise<void> | undefined
    return {
      config,
      pools,
      ports,
      kernel,
      close: () => (closing ??= closeAll()),
    }
  } catch (error) {
    redis?.disconnect()
    await pools.close()
    throw error
  }
}
