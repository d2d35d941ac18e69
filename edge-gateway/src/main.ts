import cluster from 'node:cluster'
import { parseArgs } from 'node:util'
import { RedisBus } from '@svc/proto/bus'
import { pino } from 'pino'
import {
  buildGateway,
  CertificateUnusable,
  ConfigError,
  type GatewayConfig,
  hold,
  obey,
  PortTaken,
  placesOf,
  readConfig,
  Supervisor,
} from './index.ts'

/** sysexits.h: EX_CONFIG, and what a second signal says. */
const exitCodes = { config: 78, failed: 1, killed: 130 } as const

const usage = `edge-gateway [--workers N]

  --workers N   processes that share the ports, 1 to 64, or auto: one per core that may be used (default 1, GATEWAY_WORKERS)
  --help        this text

All else is set by variables of the environment: see docs/operations.md.`

const quit = (line: string, code: number): never => {
  process.stderr.write(`${line}\n`)
  process.exit(code)
}

/** The variable that a switch stands for, if it is given. A worker's are its supervisor's word. */
const switches = (): Record<string, string> => {
  if (cluster.isWorker) return {}
  const options = { workers: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
  try {
    const { values } = parseArgs({ args: process.argv.slice(2), options })
    if (values.help) {
      process.stdout.write(`${usage}\n`)
      process.exit(0)
    }
    return values.workers === undefined ? {} : { GATEWAY_WORKERS: values.workers }
  } catch (error) {
    throw new ConfigError((error as Error).message.split('\n')[0])
  }
}

const configured = () => {
  const config = readConfig({ ...process.env, ...switches() })
  if (!config.redisUrl)
    throw new ConfigError('REDIS_URL: must be set, unless control plane and gateway run in one process')
  return { ...config, redisUrl: config.redisUrl }
}

/** Guards that a test of this program takes away, to see it fail. */
const without = new Set(
  process.env['NODE_ENV'] === 'test' ? process.env['SVC_TEST_WITHOUT']?.split(',') : undefined,
)

/** The first signal drains, a second one does not wait. */
const onSignals = (drain: () => void, kill: () => void): void => {
  let told = false
  const stop = () => {
    if (told) {
      kill()
      process.exit(exitCodes.killed)
    }
    told = true
    drain()
  }
  // Also where its terminal was closed.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
}

/**
 * Lines go out in the turn that they are written in: whoever logs last words and exits must not wait for a reader that is gone, as
 * the default destination would, for ever.
 */
const logAt = (level: string) => pino({ level }, pino.destination({ dest: 1, sync: true }))

/** One gateway, by itself or as one of several workers. */
const serve = async (config: GatewayConfig & { redisUrl: string }): Promise<void> => {
  const bus = new RedisBus(config.redisUrl)
  const gateway = buildGateway({
    config,
    bus,
    logger: logAt(config.logLevel),
    sharesPorts: cluster.isWorker,
    without,
  })
  let draining: Promise<void> | undefined
  const drain = () => {
    draining ??= gateway
      .drain()
      .then(() => bus.close())
      .then(
        () => process.exit(0),
        (error: Error) => quit(`the drain failed: ${error.message}`, exitCodes.failed),
      )
  }
  onSignals(drain, () => {})
  const ready = cluster.isWorker ? obey(gateway, drain) : undefined
  if (!cluster.isWorker) await hold(placesOf(config).filter(({ port }) => port !== 0))
  await gateway.listen()
  ready?.()
}

const supervise = async (config: GatewayConfig): Promise<void> => {
  const supervisor = new Supervisor({
    config,
    entry: import.meta.filename,
    logger: logAt(config.logLevel),
  })
  onSignals(
    () => void supervisor.drain(),
    () => supervisor.kill(),
  )
  await supervisor.start()
  const { code, line } = await supervisor.ended
  if (line) quit(line, code)
  process.exit(code)
}

try {
  const config = configured()
  await (config.workers > 1 ? supervise(config) : serve(config))
} catch (error) {
  if (error instanceof PortTaken) quit(error.message, exitCodes.failed)
  if (error instanceof ConfigError || error instanceof CertificateUnusable)
    quit(error.message, exitCodes.config)
  throw error
}
