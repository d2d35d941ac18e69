import { BlockList, isIP } from 'node:net'
import { isDecodable, releaseKey, SecretFileError, undecodable, withSecretFiles } from '@svc/proto'
import { z } from 'zod'
import { Pipeline } from './pipeline.ts'

/** A configuration that cannot be used. The message is one line that names the variable. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

const port = (value: number) => z.coerce.number().int().min(0).max(65_535).default(value)
const flag = (value: boolean) => z.stringbool().default(value)
const words = z.string().transform((text) => text.split(/[\s,]+/).filter(Boolean))

/** An address, or a range as its first address and the length of what is fixed; undefined: neither. */
function readCidr(cidr: string) {
  const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(cidr) ?? []
  const family = isIP(address)
  const most = family === 4 ? 32 : 128
  const prefix = bits === undefined ? most : Number(bits)
  return family === 0 || prefix > most ? undefined : { address, prefix, family }
}

/** Whether it holds addresses of IPv4 in their form of IPv6. */
function isMapped(text: string): boolean {
  const range = readCidr(text)
  if (range?.family !== 6) return false
  const [held, all] = [new BlockList(), new BlockList()]
  held.addSubnet(range.address, range.prefix, 'ipv6')
  all.addSubnet('::ffff:0:0', 96, 'ipv6')
  return held.check('::ffff:0:0', 'ipv6') || all.check(range.address, 'ipv6')
}

/** `10.0.0.0/8, ::1`: addresses, and ranges of them. @param least how many bits are fixed at least, of IPv4 and of IPv6 */
const cidrs = (least: { 4: number; 6: number } = { 4: 0, 6: 0 }) =>
  words.transform((texts, context) => {
    const list = new BlockList()
    for (const text of texts) {
      const range = readCidr(text)
      if (!range) context.addIssue({ code: 'custom', message: `not an address or CIDR: ${text}` })
      else if (range.prefix < least[range.family === 4 ? 4 : 6])
        context.addIssue({ code: 'custom', message: `is too much at once: ${text}` })
      else list.addSubnet(range.address, range.prefix, range.family === 4 ? 'ipv4' : 'ipv6')
    }
    return list
  })

/** Addresses are compared as what they are: a range of IPv4 in its form of IPv6 would hold for none, or open all of it. */
const unmapped = (least?: { 4: number; 6: number }) =>
  words
    .refine((texts) => !texts.some(isMapped), 'write addresses of IPv4 as such, without ::ffff:')
    .transform((texts) => texts.join(' '))
    .pipe(cidrs(least))

/** `443, 8443, 9000-9100`: first and last of each range. Below 1024 there are other things than HTTP, but for its own two. */
const Ports = words.transform((ranges, context) =>
  ranges.map((range): [number, number] => {
    const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(range) ?? []
    const [low, high] = [Number(first), Number(last)]
    const usual = low === high && (low === 80 || low === 443)
    if (first === '' || low > high || high > 65_535 || (low < 1_024 && !usual))
      context.addIssue({ code: 'custom', message: `not 80, 443, or a port or range from 1024 on: ${range}` })
    return [low, high]
  }),
)

/** `10.0.0.53, [fd00::53]:5353`: name servers. */
const Resolvers = words.transform((servers, context) => {
  for (const server of servers) {
    const [, bracketed, plain = '', port = '53'] =
      /^(?:\[(.+)\]|([^[\]]+?))(?::(\d{1,5}))?$/.exec(server) ?? []
    const known = bracketed === undefined ? isIP(plain) !== 0 || isIP(server) === 6 : isIP(bracketed) === 6
    if (!known || Number(port) > 65_535 || Number(port) === 0)
      context.addIssue({ code: 'custom', message: `not an address, or address:port: ${server}` })
  }
  return servers
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
    .refine(isDecodable, undecodable)

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
  /** where ends of the audit log's chains are written down, outside of the database; default: in the log alone */
  AUDIT_HEADS_DIR: z.string().optional(),

  HOST: z.string().default('127.0.0.1'),
  PORT: port(8080),
  INTERNAL_HOST: z.string().default('127.0.0.1'),
  INTERNAL_PORT: port(8081),
  METRICS_HOST: z.string().default('127.0.0.1'),
  METRICS_PORT: port(9464),
  /** what gateways prove themselves with on the internal listener */
  EDGE_SHARED_KEY: z.string().min(32),
  TRUSTED_PROXIES: cidrs().prefault(''),
  /** whose `traceparent` and `x-request-id` are taken; anybody else could write in others' history */
  TRACE_CALLERS: cidrs().prefault(''),
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

  /** of the inside (private, loopback, link-local and so on), no more of it than a network of the operator's: what addresses that tenants chose may lead to all the same */
  EGRESS_ALLOW: unmapped({ 4: 8, 6: 16 }).prefault(''),
  /** looks public, but is of the inside, or otherwise not to be asked; wins over EGRESS_ALLOW */
  EGRESS_DENY: unmapped().prefault(''),
  /** whether tenants' addresses may begin with http:// */
  EGRESS_HTTP: flag(false),
  /** ports that are asked */
  EGRESS_PORTS: Ports.prefault('443 8443 80 8080'),
  /** name servers for tenants' addresses; default: the machine's */
  EGRESS_RESOLVERS: Resolvers.prefault(''),
  /** where spans are sent, by OTLP over HTTP: `/v1/traces` follows; absent: nothing is exported */
  OTEL_EXPORTER_OTLP_ENDPOINT: Url('http:', 'https:').optional(),
  /** of requests that bring no trace, the part that is seen, from 0 to 1 */
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),

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
    auditHeadsDir: env.AUDIT_HEADS_DIR,
    host: env.HOST,
    port: env.PORT,
    internalHost: env.INTERNAL_HOST,
    internalPort: env.INTERNAL_PORT,
    metricsHost: env.METRICS_HOST,
    metricsPort: env.METRICS_PORT,
    edgeSharedKey: env.EDGE_SHARED_KEY,
    trustedProxies: env.TRUSTED_PROXIES,
    traceCallers: env.TRACE_CALLERS,
    otlpEndpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT,
    traceRatio: env.OTEL_TRACES_SAMPLER_ARG,
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
    egress: {
      allow: env.EGRESS_ALLOW,
      deny: env.EGRESS_DENY,
      http: env.EGRESS_HTTP,
      ports: env.EGRESS_PORTS,
      resolvers: env.EGRESS_RESOLVERS,
    },
    enableRegistration: env.ENABLE_REGISTRATION,
    enable2fa: env.ENABLE_2FA,
    heartbeatIntervalMs: env.HEARTBEAT_INTERVAL_MS,
    drainDelayMs: env.DRAIN_DELAY_MS,
    drainMs: env.DRAIN_MS,
    pipeline: pipeline.data,
  }
}
