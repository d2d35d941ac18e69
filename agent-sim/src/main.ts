import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { type Mix, parseMix } from './fleet/mix.ts'
import { exits, launcherVariable } from './launcher/contract.ts'
import { agentVersion } from './version.ts'

// What a command does is loaded when it is given: the launcher needs next to nothing of it.

function positive(text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new InvalidArgumentError('a number above zero is needed')
  return value
}

function whole(text: string): number {
  const value = positive(text)
  if (!Number.isInteger(value)) throw new InvalidArgumentError('a whole number is needed')
  return value
}

function mix(text: string): Mix {
  try {
    return parseMix(text)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

const api = () =>
  new Option('--api <url>', 'base URL of the API, without /api/v1').env('SVC_API').makeOptionMandatory()
const key = () => new Option('--key <key>', 'enrollment key').env('SVC_ENROLLMENT_KEY')

const flags = {
  api: '--api',
  key: '--key',
  stateDir: '--state-dir',
  releaseKey: '--release-key',
}

const program = new Command('agent')
  .version(agentVersion)
  .description('Agents: a simulated fleet, or this machine.')

program
  .command('fleet')
  .description('run a fleet of simulated devices')
  .addOption(api())
  .addOption(key().makeOptionMandatory())
  .option('--agents <n>', 'how many devices', whole, 10)
  .option('--ramp <per-second>', 'how many of them begin per second', positive, 50)
  .addOption(
    new Option('--transport <mix>', 'websocket, mqtt, mqtt-ws, mix, or weights: websocket=70,mqtt=30')
      .argParser(mix)
      .default(parseMix('websocket'), 'websocket'),
  )
  .option('--mqtt-keepalive <s>', 'over MQTT: ping after so many seconds of silence; 40', whole)
  .option('--seed <n>', 'moves which device has which transport', whole, 0)
  .option(
    '--churn <per-minute>',
    'mishaps per minute and 100 agents: leave, crash, another network',
    positive,
  )
  .option('--churn-seed <n>', 'makes mishaps repeatable', whole, 1)
  .option('--seconds <s>', 'end after so long; without it: when told to', positive)
  .option('--state-dir <dir>', 'keep identities here, so that the same devices come back')
  .option('--ledger-dir <dir>', 'keep ledgers and a list of executions here')
  .option('--prefix <text>', 'in front of each hostname', '')
  .option('--json', 'print one JSON object at the end, and no progress')
  .action(async (options) => {
    const [{ runFleet }, { testSwitches }] = await Promise.all([
      import('./cli/fleet.ts'),
      import('@svc/proto'),
    ])
    const { without } = testSwitches(process.env)
    process.exitCode = await runFleet({ ...options, without })
  })

const stateDir = () =>
  new Option('--state-dir <dir>', 'identity, ledger and, where it is launched, the agent’s file')
    .env('SVC_AGENT_STATE')
    .default('/var/lib/svc-agent')
const trust = () =>
  new Option('--release-key <keys>', 'trust releases of these public keys alone: base64, or a file').env(
    'SVC_RELEASE_KEY',
  )

program
  .command('host')
  .description('run the agent of this machine')
  .addOption(api())
  .addOption(key())
  .addOption(stateDir())
  .addOption(trust())
  .action(async (options) => {
    const { runHost } = await import('./cli/host.ts')
    process.exitCode = await runHost({ ...options, launcher: process.env[launcherVariable] })
  })

program
  .command('run')
  .description('keep the agent of this machine running, also when it updates itself')
  .addOption(api())
  .addOption(key())
  .addOption(stateDir())
  .addOption(trust())
  .option('--contact-within <s>', 'how long a new version may take to reach the server', positive, 120)
  .action(async ({ stateDir, contactWithin }, command) => {
    const { runLauncher } = await import('./cli/run.ts')
    // What is in the environment stays there: a command line can be read by everybody.
    const given = (['api', 'key', 'stateDir', 'releaseKey'] as const).flatMap((name) =>
      command.getOptionValueSource(name) === 'cli' ? [flags[name], String(command.getOptionValue(name))] : [],
    )
    process.exitCode = await runLauncher({ stateDir, contactWithin, args: given })
  })

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  const isFinal = error instanceof Error && error.name === 'EnrollmentRefused'
  process.exitCode = isFinal ? exits.unwanted : 1
}
