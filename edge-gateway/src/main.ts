import cluster from 'node:cluster'
import { parseArgs } from 'node:util'
import { testSwitches } from '@svc/proto'
import { RedisBus } from '@svc/proto/bus'
import { endWithin, giveUp, openLog, type OpenLog, ownOutput } from '@svc/proto/log'
import { watchLoop } from '@svc/proto/loop'
import { openTracing } from '@svc/proto/trace'
import {
  buildGateway,
  CertificateUnusable,
  ConfigError,
  type GatewayConfig,
  hold,
  limits,
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

const { without, moved } = testSwitches(process.env)

/** The first signal drains, within bounds; a second one does not wait. */
const onSignals = (output: OpenLog, drain: () => void, kill: () => void): void => {
  let told = false
  const stop = () => {
    if (told) {
      kill()
      process.exit(exitCodes.killed)
    }
    told = true
    endWithin(output, moved['exitWithinMs'] ?? limits.exitWithinMs)
    drain()
  }
  // Also where its terminal was closed.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
}

const opened: { output?: OpenLog } = {}

const open = ({ logLevel, node, workers }: GatewayConfig): OpenLog => {
  const service = workers > 1 ? 'supervisor' : 'gateway'
  const output = openLog({ service, level: logLevel, instance: node, without })
  ownOutput(output)
  return (opened.output = output)
}

/** What its operator can mend. */
const isPlain = (error: unknown): boolean =>
  error instanceof PortTaken || error instanceof ConfigError || error instanceof CertificateUnusable

const end = (error: unknown): never => {
  const mistaken = error instanceof ConfigError || error instanceof CertificateUnusable
  const output = opened.output ?? openLog({ service: 'gateway', level: 'info', without })
  return giveUp(output, error, isPlain(error), mistaken ? exitCodes.config : exitCodes.failed)
}

/** One gateway, by itself or as one of several workers. */
const serve = async (config: GatewayConfig & { redisUrl: string }, output: OpenLog): Promise<void> => {
  const { log: logger } = output
  const bus = new RedisBus(config.redisUrl)
  const tracing = await openTracing({
    endpoint: config.otlpEndpoint,
    ratio: 0, // what is seen is decided where a request begins
    service: 'gateway',
    instance: config.node,
    version: config.version,
    failed: (error) => logger.warn({ err: error }, 'spans were not exported'),
  })
  const gateway = buildGateway({
    config,
    bus,
    logger,
    tracing,
    sharesPorts: cluster.isWorker,
    limits: moved,
    without,
  })
  let draining: Promise<void> | undefined
  const drain = () => {
    draining ??= gateway
      .drain()
      .then(() => bus.close())
      .then(() => tracing.close())
      .then(() => process.exit(0), end)
  }
  onSignals(output, drain, () => {})
  const ready = cluster.isWorker ? obey(gateway, drain) : undefined
  if (!cluster.isWorker) await hold(placesOf(config).filter(({ port }) => port !== 0))
  await gateway.listen()
  // Told to end meanwhile.
  if (draining) return
  if (!without.has('loop_watch')) watchLoop(logger)
  ready?.()
}

const supervise = async (config: GatewayConfig, output: OpenLog): Promise<void> => {
  const supervisor = new Supervisor({
    config,
    entry: import.meta.filename,
    logger: output.log,
  })
  onSignals(
    output,
    () => void supervisor.drain(),
    () => supervisor.kill(),
  )
  await supervisor.start()
  const { code, line } = await supervisor.ended
  if (line) giveUp(output, new Error(line), true, code)
  process.exit(code)
}

try {
  const config = configured()
  const output = open(config)
  await (config.workers > 1 ? supervise(config, output) : serve(config, output))
} catch (error) {
  end(error)
}
