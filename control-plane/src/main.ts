import { constants } from 'node:os'
import { pino } from 'pino'
import {
  buildControlPlane,
  ConfigError,
  type ControlPlane,
  DatabaseError,
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

/** What its operator can mend is told in one line; the rest is a fault and shows where. */
function giveUp(error: unknown): never {
  const plain =
    error instanceof ConfigError ||
    error instanceof DatabaseError ||
    error instanceof KeyError ||
    error instanceof MigrationError ||
    error instanceof ListenError
  console.error(plain ? error.message : error)
  process.exit(error instanceof ConfigError ? badConfiguration : 1)
}

/** Guards that a test of this program takes away, to see it fail. */
const without = new Set(
  process.env['NODE_ENV'] === 'test' ? process.env['SVC_TEST_WITHOUT']?.split(',') : undefined,
)

async function main() {
  const role = roleOf(process.argv.slice(2))
  const config = readConfig(process.env)
  // In the turn that they are written in: last words must not wait for a reader that is gone, as the default destination would.
  const logger = pino({ level: config.logLevel }, pino.destination({ dest: 1, sync: true }))

  const running: { controlPlane?: ControlPlane } = {}
  let stopping = false
  const stop = (signal: NodeJS.Signals) => {
    // As the first process of a container it is not ended by a signal that it has not asked for.
    if (!running.controlPlane) process.exit(128 + constants.signals[signal])
    if (stopping) process.exit(1) // asked twice: somebody is in a hurry
    stopping = true
    logger.info({ signal }, 'draining')
    running.controlPlane.close().then(() => process.exit(0), giveUp)
  }
  // The last one: its terminal was closed.
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop)
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'a fault that nobody handled')
    process.exit(1)
  })

  const built = await buildControlPlane({ config, logger, role, without })
  running.controlPlane = built
  const addresses = await built.listen().catch(async (error: unknown) => {
    await built.close()
    throw error
  })
  logger.info({ role, version: config.version, ...addresses }, 'control plane is up')
}

main().catch(giveUp)
