import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { isDecodable, SecretFileError, undecodable, withSecretFiles } from '@svc/proto'
import { z } from 'zod'

const port = z.coerce.number().int().min(0).max(65_535)
const absent = (text: unknown) => (text === '' ? undefined : text)
const optional = z.preprocess(absent, z.string().optional())

/** More processes than this share no port sensibly, and each needs memory and connections of its own. */
const maxWorkers = 64
/** of a node's name; each worker adds its number to it */
const [longestName, roomForNumber] = [64, 8]

/** seconds: what uWebSockets.js can time */
const [shortestIdle, longestIdle] = [8, 960]

const isCidr = (text: string) => {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  const widest = family === 6 ? 128 : 32
  return (
    family !== 0 &&
    rest.length === 0 &&
    (bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= widest))
  )
}

const cidrs = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .refine((parts) => parts.every(isCidr), 'must be a comma-separated list of CIDR ranges')

const Environment = z.object({
  GATEWAY_HOST: z.string().min(1).default('127.0.0.1'),
  GATEWAY_PORT: port.default(8443),
  GATEWAY_NODE: z.preprocess(
    absent,
    z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'must be up to 64 of A-Z a-z 0-9 _ . -')
      .optional(),
  ),
  GATEWAY_IDLE_SECONDS: z.preprocess(
    absent,
    z.coerce
      .number({ error: 'must be a number of seconds' })
      .int()
      .min(shortestIdle, `must be at least ${shortestIdle}`)
      .max(longestIdle, `must be at most ${longestIdle}`)
      .optional(),
  ),
  GATEWAY_METRICS_HOST: z.string().min(1).default('127.0.0.1'),
  GATEWAY_METRICS_PORT: z.union([z.literal('off'), port]).default(9465),
  MQTT_HOST: z.string().min(1).default('127.0.0.1'),
  MQTT_PORT: z.preprocess(absent, z.union([z.literal('off'), port]).default(1883)),
  MQTTS_PORT: z.preprocess(absent, z.union([z.literal('off'), port]).default(8883)),
  GATEWAY_WORKERS: z.preprocess(
    absent,
    z
      .union([z.literal('auto'), z.coerce.number().int().min(1).max(maxWorkers)], {
        error: `must be a number from 1 to ${maxWorkers}, or auto`,
      })
      .default(1),
  ),
  REDIS_URL: z.preprocess(
    absent,
    z
      .url({ protocol: /^rediss?$/, error: 'must be a redis:// or rediss:// address' })
      .refine(isDecodable, undecodable)
      .optional(),
  ),
  EXCHANGE_URL: z
    .string()
    .default('http://127.0.0.1:8081/internal/edge/exchange')
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean),
    )
    .pipe(
      z
        .array(z.url({ protocol: /^https?$/, error: 'must be http:// or https:// addresses' }))
        .min(1, 'must be at least one address'),
    ),
  EDGE_SHARED_KEY: z.string({ error: 'must be set' }).min(32, 'must have at least 32 characters'),
  TRUSTED_PROXIES: cidrs,
  OTEL_EXPORTER_OTLP_ENDPOINT: z.preprocess(
    absent,
    z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }).optional(),
  ),
  TLS_CERT_FILE: optional,
  TLS_KEY_FILE: optional,
  NODE_ENV: z.string().default('development'),
  SVC_VERSION: z.string().default('0.1.0'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
})

export interface GatewayConfig {
  host: string
  /** 0: any free one */
  port: number
  /** MQTT over TCP, and over TLS where there is a certificate; undefined: not there. Over WebSocket it shares `port`. */
  mqtt: { host: string; port: number | undefined; tlsPort: number | undefined }
  /** this process among all gateways, also over restarts */
  node: string
  metrics: { host: string; port: number } | undefined
  /** a WebSocket that carried nothing for so long is cut, after a ping in time; absent: see the limits */
  idleSeconds?: number | undefined
  /** gateways that share the ports, each a process and a node of its own */
  workers: number
  /** absent: claims stay in this process */
  redisUrl: string | undefined
  /** of control planes that share a database; the next is asked where one does not answer */
  exchangeUrls: readonly string[]
  sharedKey: string
  /** CIDR ranges whose word about a client's address counts */
  trustedProxies: readonly string[]
  /** where spans are sent; absent: nothing is exported */
  otlpEndpoint?: string | undefined
  tls: { certFile: string; keyFile: string } | undefined
  /** of the running product, as gateways tell it to the control plane (interface §Versioning) */
  version: string
  logLevel: string
}

/** The message is one line that names the variable. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

const isLoopback = (host: string) => host === 'localhost' || host === '::1' || host.startsWith('127.')

/** A new name for each start: what an earlier process held is not ours. */
const newNode = () => `edge-${randomBytes(6).toString('hex')}`

/** Variables that may be given as a file: `REDIS_URL_FILE`, and so on. */
const secrets = ['REDIS_URL', 'EDGE_SHARED_KEY'] as const

const withSecrets = (env: Record<string, string | undefined>) => {
  try {
    return withSecretFiles(env, secrets)
  } catch (error) {
    if (error instanceof SecretFileError) throw new ConfigError(error.message)
    throw error
  }
}

/**
 * The whole configuration, from environment variables. Throws a {@link ConfigError} naming the first that is wrong. In production
 * agents are only served in the clear from loopback or behind trusted proxies.
 */
export function readConfig(env: Record<string, string | undefined>): GatewayConfig {
  const parsed = Environment.safeParse(withSecrets(env))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new ConfigError(`${String(issue?.path[0])}: ${issue?.message}`)
  }
  const given = parsed.data
  const workers = workersOf(given)
  const tls = tlsOf(given.TLS_CERT_FILE, given.TLS_KEY_FILE)
  const exposed = !tls && !isLoopback(given.GATEWAY_HOST) && given.TRUSTED_PROXIES.length === 0
  if (given.NODE_ENV === 'production' && exposed)
    throw new ConfigError(
      'TLS_CERT_FILE: needed in production, unless TRUSTED_PROXIES is set or GATEWAY_HOST is loopback',
    )
  const mqtt = mqttOf(given)
  const mqttExposed = mqtt.port !== undefined && !isLoopback(mqtt.host) && given.TRUSTED_PROXIES.length === 0
  if (given.NODE_ENV === 'production' && mqttExposed)
    throw new ConfigError(
      'MQTT_PORT: must be off in production, unless TRUSTED_PROXIES is set or MQTT_HOST is loopback',
    )
  return {
    host: given.GATEWAY_HOST,
    port: given.GATEWAY_PORT,
    mqtt,
    node: given.GATEWAY_NODE ?? newNode(),
    metrics:
      given.GATEWAY_METRICS_PORT === 'off'
        ? undefined
        : { host: given.GATEWAY_METRICS_HOST, port: given.GATEWAY_METRICS_PORT },
    idleSeconds: given.GATEWAY_IDLE_SECONDS,
    workers,
    redisUrl: given.REDIS_URL,
    exchangeUrls: given.EXCHANGE_URL,
    sharedKey: given.EDGE_SHARED_KEY,
    trustedProxies: given.TRUSTED_PROXIES,
    otlpEndpoint: given.OTEL_EXPORTER_OTLP_ENDPOINT,
    tls,
    version: given.SVC_VERSION,
    logLevel: given.LOG_LEVEL,
  }
}

const unlessOff = (port: number | 'off') => (port === 'off' ? undefined : port)

const mqttOf = ({ MQTT_HOST, MQTT_PORT, MQTTS_PORT }: z.infer<typeof Environment>) => ({
  host: MQTT_HOST,
  port: unlessOff(MQTT_PORT),
  tlsPort: unlessOff(MQTTS_PORT),
})

const workersOf = ({ GATEWAY_WORKERS, GATEWAY_NODE, REDIS_URL }: z.infer<typeof Environment>): number => {
  const workers = GATEWAY_WORKERS === 'auto' ? Math.min(maxWorkers, availableParallelism()) : GATEWAY_WORKERS
  if (workers > 1 && !REDIS_URL) throw new ConfigError('REDIS_URL: must be set for more than one worker')
  if (workers > 1 && GATEWAY_NODE && GATEWAY_NODE.length > longestName - roomForNumber)
    throw new ConfigError(
      `GATEWAY_NODE: must be up to ${longestName - roomForNumber} characters for more than one worker`,
    )
  return workers
}

const tlsOf = (certFile: string | undefined, keyFile: string | undefined) => {
  if (certFile && keyFile) return { certFile, keyFile }
  if (certFile) throw new ConfigError('TLS_KEY_FILE: must be set with TLS_CERT_FILE')
  if (keyFile) throw new ConfigError('TLS_CERT_FILE: must be set with TLS_KEY_FILE')
  return undefined
}
