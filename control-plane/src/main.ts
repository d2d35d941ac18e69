import { constants } from 'node:os'
import { testSwitches } from '@svc/proto'
import { endWithin, giveUp, openLog, type OpenLog, ownOutput } from '@svc/proto/log'
import { watchLoop } from '@svc/proto/loop'
import {
  buildControlPlane,
  ConfigError,
  type ControlPlane,
  DatabaseError,
  HeadsFileError,
  KeyError,
  ListenError,
  MigrationError,
  readConfig,
  type Role,
} from './index.ts'

/** sysexits.h EX_CONFIG: a supervisor need not try again before somebody has changed something. */
const badConfiguration = 78

function roleOf(args: readonly string[]): Role {
  const at = args.indexOf('--role')
  const role = at < 0 ? 'all' : args[at + 1]
  if (role === 'api' || role === 'worker' || role === 'all') return role
  throw new ConfigError(`--role: api, worker or all, not ${role}`)
}

/** Beside what it is given for a drain: for its database and Redis to be left. */
const leavingMs = 30_000
/** A control plane that was told to end is gone by then, unless it is given longer for a drain. */
const exitWithinMs = 120_000

/** What its operator can mend. */
const isPlain = (error: unknown): error is Error =>
  error instanceof ConfigError ||
  error instanceof DatabaseError ||
  error instanceof KeyError ||
  error instanceof HeadsFileError ||
  error instanceof MigrationError ||
  error instanceof ListenError

const { without, moved } = testSwitches(process.env)

/** @param role absent: what is told has to be before the configuration is read */
const open = (level: string, role?: Role) => openLog({ service: 'control-plane', level, role, without })
const opened: { output?: OpenLog } = {}

const end = (error: unknown) =>
  giveUp(
    opened.output ?? open('info'),
    error,
    isPlain(error),
    error instanceof ConfigError ? badConfiguration : 1,
  )

async function main() {
  const role = roleOf(process.argv.slice(2))
  const config = readConfig(process.env)
  const output = open(config.logLevel, role)
  opened.output = output
  ownOutput(output)
  const logger = output.log

  const running: { controlPlane?: ControlPlane } = {}
  let stopping = false
  const stop = (signal: NodeJS.Signals) => {
    // As the first process of a container it is not ended by a signal that it has not asked for.
    if (!running.controlPlane) process.exit(128 + constants.signals[signal])
    if (stopping) process.exit(1) // asked twice: somebody is in a hurry
    stopping = true
    logger.info({ signal }, 'draining')
    const drainMs = config.drainDelayMs + config.drainMs
    endWithin(output, moved['exitWithinMs'] ?? Math.max(exitWithinMs, drainMs + leavingMs))
    running.controlPlane.close().then(() => process.exit(0), end)
  }
  // The last one: its terminal was closed.
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop)

  const built = await buildControlPlane({ config, logger, role, without })
  running.controlPlane = built
  const addresses = await built.listen().catch(async (error: unknown) => {
    await built.close()
    throw error
  })
  if (stopping) return
  // Not before: to get ready keeps it busy, and nobody waits for it yet.
  if (!without.has('loop_watch')) watchLoop(logger)
  logger.info({ event: 'process.up', version: config.version, ...addresses }, 'control plane is up')
}

main().catch(end)
