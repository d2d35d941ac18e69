import { BlockList, isIP } from 'node:net'
import { releaseKey, SecretFileError, withSecretFiles } from '@svc/proto'
import { z } from 'zod'
import { Pipeline } from './pipeline.ts'

/** A configuration that cannot be used. The message is one line that names the variable. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

const port = (value: number) => z.coerce.number().int().min(0).max(65_535).default(value)
const flag = (value: boolean) => z.stringbool().default(value)
const words = z.string().transform((text) => text.split(/[\s,]+/).filter(Boolean))

/** `10.0.0.0/8, ::1`: the proxies whose word about client addresses is taken. */
const Cidrs = words.transform((cidrs, context) => {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/')
    const family = isIP(address)
    const most = family === 4 ? 32 : 128
    const prefix = bits === undefined ? most : Number(bits)
    if (family === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > most) {
      context.addIssue({ code: 'custom', message: `not an address or CIDR: ${cidr}` })
    } else list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6')
  }
  return list
})

/** Base64 of 32 bytes each: whose signature makes a release one. */
const ReleaseKeys = words.transform((keys, context) =>
  keys.flatMap((publicKey) => {
    try {
      return [{ publicKey, ...releaseKey(publicKey) }]
    } catch {
      context.addIssue({ code: 'custom', message: `not the 32 bytes of a key in base64: ${publicKey}` })
      return []
    }
  }),
)

const Url = (...schemes: string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && schemes.includes(new URL(text).protocol),
      `not a ${schemes.join(' or ')}// URL`,
    )

/** Every setting of the control plane by the name of its variable. Nothing else reads the environment. */
const Environment = z.object({
  NODE_ENV: z.enum(['production', 'development', 'test']).default('production'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  SVC_VERSION: z.string().default('0.1.0'),

  DATABASE_URL: Url('postgres:', 'postgresql:'),
  /** logins of the two roles; absent: DATABASE_URL's user takes the role at the start of each session */
  DATABASE_APP_URL: Url('postgres:', 'postgresql:').optional(),
  DATABASE_WORKER_URL: Url('postgres:', 'postgresql:').optional(),
  DATABASE_POOL: z.coerce.number().int().min(2).max(200).default(10),
  AUTO_MIGRATE: flag(true),
  /** where a bundle finds `db/migrations` */
  MIGRATIONS_DIR: z.string().optional(),
  REDIS_URL: Url('redis:', 'rediss:').optional(),
  KEYS_DIR: z.string().min(1),

  HOST: z.string().default('127.0.0.1'),
  PORT: port(8080),
  INTERNAL_HOST: z.string().default('127.0.0.1'),
  INTERNAL_PORT: port(8081),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_PORT: port(9464),
  /** what gateways prove themselves with on the internal listener */
  EDGE_SHARED_KEY: z.string().min(32),
  TRUSTED_PROXIES: Cidrs.prefault(''),
  /** where people and agents reach the API; issuer of tokens, base of links. Default: HOST and PORT over http */
  PUBLIC_URL: Url('http:', 'https:').optional(),
  /** where agents reach the gateways */
  GATEWAY_URLS: words.prefault(''),

  /** public keys that sign releases: what none of them has signed is none */
  RELEASE_KEYS: ReleaseKeys.prefault(''),
  /** where agents get their binaries: the release host, or this server */
  BINARY_SOURCE: z.enum(['github', 'local']).default('github'),
  /** for `local`: a folder for each release, named by its version */
  BINARY_DIR: z.string().optional(),
  /** for `github`: the REST API, the repository `owner/name`, and a token where it is not public */
  RELEASE_HOST_URL: Url('http:', 'https:').default('https://api.github.com'),
  RELEASE_REPO: z
    .string()
    .regex(/^[\w.-]+\/[\w.-]+$/, 'not owner/name')
    .optional(),
  RELEASE_TOKEN: z.string().optional(),
  /** hosts beside that of the API that its assets may lie on */
  RELEASE_ASSET_HOSTS: words.prefault(
    'github.com objects.githubusercontent.com release-assets.githubusercontent.com',
  ),

  /** where mail goes out: `smtp://user:password@host:587`, with STARTTLS beyond this machine, or `smtps://` */
  SMTP_URL: Url('smtp:', 'smtps:').optional(),
  /** who it is from: an address, or `Name <address>` */
  MAIL_FROM: z
    .string()
    .regex(/^([^<>\r\n]+<)?[^\s<>@]+@[^\s<>@]+>?$/, 'not an address or Name <address>')
    .optional(),

  /** how text messages leave: `log` shows them to the host, never in production; default there: not at all, elsewhere `log` */
  SMS_DRIVER: z.enum(['log', 'http', 'twilio']).optional(),
  /** of the driver `http`: where it posts; of `twilio`: the REST API */
  SMS_URL: Url('http:', 'https:').optional(),
  /** bearer token of `http`, auth token of `twilio` */
  SMS_TOKEN: z.string().optional(),
  /** of `twilio`: the account's SID */
  SMS_ACCOUNT: z.string().optional(),
  /** number or name that messages come from */
  SMS_FROM: z.string().optional(),
  /** countries (ISO 3166-1) whose numbers are written to; default: all. Fraud runs over numbers of few of them */
  SMS_COUNTRIES: words.prefault(''),

  ENABLE_REGISTRATION: flag(false),
  ENABLE_2FA: flag(true),
  /** between two heartbeats of an agent */
  HEARTBEAT_INTERVAL_MS: z.coerce.number().int().min(100).max(3_600_000).default(60_000),
  /** for a drain: how long it goes on as before, but is not ready, so that balancers have noticed before it stops */
  DRAIN_DELAY_MS: z.coerce.number().int().min(0).max(60_000).default(0),
  /** then requests that are running get this long */
  DRAIN_MS: z.coerce.number().int().min(0).max(600_000).default(15_000),
})

/** `commandLeaseMs` is set by COMMAND_LEASE_MS, and so on. */
const variableOf = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
const pipelineKeys = Object.keys(Pipeline.shape)

export type Config = ReturnType<typeof readConfig>

function complain(error: z.ZodError, nameOf: (key: string) => string): ConfigError {
  const [issue] = error.issues
  const name = nameOf(String(issue?.path[0]))
  return new ConfigError(
    `${name}: ${issue?.code === 'invalid_type' && issue.input === undefined ? 'is not set' : issue?.message}`,
  )
}

/** An empty variable is as good as none: that is how shells and compose files leave things out. */
const withoutEmpty = (env: Record<string, string | undefined>) =>
  Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))

/** Variables that may be given as a file: `DATABASE_URL_FILE`, and so on. */
const secrets = [
  'DATABASE_URL',
  'DATABASE_APP_URL',
  'DATABASE_WORKER_URL',
  'REDIS_URL',
  'EDGE_SHARED_KEY',
  'RELEASE_TOKEN',
  'SMTP_URL',
  'SMS_TOKEN',
] as const

function withSecrets(env: Record<string, string | undefined>) {
  try {
    return withSecretFiles(env, secrets)
  } catch (error) {
    if (error instanceof SecretFileError) throw new ConfigError(error.message)
    throw error
  }
}

/** How mail leaves: by SMTP; without a server it is shown to the host, except in production, where none is sent. */
function mailOf(env: z.output<typeof Environment>) {
  if (env.SMTP_URL !== undefined)
    return { driver: 'smtp', url: env.SMTP_URL, from: env.MAIL_FROM ?? '' } as const
  return env.NODE_ENV === 'production' ? undefined : ({ driver: 'shown' } as const)
}

/** How text messages leave; undefined: not at all. @throws ConfigError where the driver lacks something */
function smsOf(env: z.output<typeof Environment>) {
  const driver = env.SMS_DRIVER ?? (env.NODE_ENV === 'production' ? undefined : 'log')
  const needed = (name: 'SMS_URL' | 'SMS_TOKEN' | 'SMS_ACCOUNT' | 'SMS_FROM') => {
    const value = env[name]
    if (value === undefined) throw new ConfigError(`${name}: is not set, and SMS_DRIVER is ${driver}`)
    return value
  }
  switch (driver) {
    case undefined:
      return undefined
    case 'log':
      if (env.NODE_ENV === 'production')
        throw new ConfigError('SMS_DRIVER: log is not for production: whoever reads the log could log in')
      return { driver } as const
    case 'http':
      return { driver, url: needed('SMS_URL'), token: needed('SMS_TOKEN'), from: env.SMS_FROM } as const
    case 'twilio': {
      const url = env.SMS_URL ?? 'https://api.twilio.com'
      const [account, token, from] = [needed('SMS_ACCOUNT'), needed('SMS_TOKEN'), needed('SMS_FROM')]
      return { driver, url, account, token, from } as const
    }
  }
}

/** The configuration of one process. @throws ConfigError for the first variable that is wrong */
export function readConfig(variables: Record<string, string | undefined>) {
  const given = withoutEmpty(withSecrets(variables))
  const parsed = Environment.safeParse(given, { reportInput: true })
  if (!parsed.success) throw complain(parsed.error, String)
  const pipeline = Pipeline.safeParse(
    Object.fromEntries(
      pipelineKeys.flatMap((key) => (variableOf(key) in given ? [[key, given[variableOf(key)]]] : [])),
    ),
  )
  if (!pipeline.success) throw complain(pipeline.error, variableOf)
  const env = parsed.data
  if (env.BINARY_SOURCE === 'local' && env.BINARY_DIR === undefined)
    throw new ConfigError('BINARY_DIR: is not set, and BINARY_SOURCE is local')
  if (env.SMTP_URL !== undefined && env.MAIL_FROM === undefined)
    throw new ConfigError('MAIL_FROM: is not set, and SMTP_URL is')
  const publicUrl = (env.PUBLIC_URL ?? `http://${env.HOST}:${env.PORT}`).replace(/\/+$/, '')
  return {
    environment: env.NODE_ENV,
    logLevel: env.LOG_LEVEL,
    version: env.SVC_VERSION,
    databaseUrl: env.DATABASE_URL,
    databaseAppUrl: env.DATABASE_APP_URL,
    databaseWorkerUrl: env.DATABASE_WORKER_URL,
    databasePool: env.DATABASE_POOL,
    autoMigrate: env.AUTO_MIGRATE,
    migrationsDir: env.MIGRATIONS_DIR,
    redisUrl: env.REDIS_URL,
    keysDir: env.KEYS_DIR,
    host: env.HOST,
    port: env.PORT,
    internalHost: env.INTERNAL_HOST,
    internalPort: env.INTERNAL_PORT,
    metricsHost: env.METRICS_HOST,
    metricsPort: env.METRICS_PORT,
    edgeSharedKey: env.EDGE_SHARED_KEY,
    trustedProxies: env.TRUSTED_PROXIES,
    publicUrl,
    gatewayUrls: env.GATEWAY_URLS,
    releaseKeys: env.RELEASE_KEYS,
    binarySource: env.BINARY_SOURCE,
    binaryDir: env.BINARY_DIR,
    releaseHost: {
      url: env.RELEASE_HOST_URL,
      repository: env.RELEASE_REPO,
      token: env.RELEASE_TOKEN,
      assetHosts: env.RELEASE_ASSET_HOSTS,
    },
    mail: mailOf(env),
    sms: smsOf(env),
    smsCountries: env.SMS_COUNTRIES,
    enableRegistration: env.ENABLE_REGISTRATION,
    enable2fa: env.ENABLE_2FA,
    heartbeatIntervalMs: env.HEARTBEAT_INTERVAL_MS,
    drainDelayMs: env.DRAIN_DELAY_MS,
    drainMs: env.DRAIN_MS,
    pipeline: pipeline.data,
  }
}
