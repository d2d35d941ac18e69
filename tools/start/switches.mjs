import { parseArgs } from 'node:util'
import { misread } from '../command-line.mjs'

/**
 * Every switch of each command: name, the word for its value (none: on or off), what it does, and the value it has
 * when it is not given. A variable of the environment stands in for a switch that is not given.
 */
export const switches = {
  start: [
    ['data', 'DIR', 'where everything is kept', { or: '.svc', variable: 'SVC_DATA' }],
    ['host', 'ADDRESS', 'address to listen on', { or: '127.0.0.1', variable: 'HOST' }],
    ['port', 'N', 'port of the API', { or: 8080, variable: 'PORT' }],
    ['gateway-port', 'N', 'port for agents', { or: 8443, variable: 'GATEWAY_PORT' }],
    [
      'mqtt-port',
      'N|off',
      'port for agents over MQTT; over WebSocket they use the gateway’s',
      { or: 1883, variable: 'MQTT_PORT' },
    ],
    ['internal-port', 'N', 'port between gateway and control plane', { or: 8081, variable: 'INTERNAL_PORT' }],
    ['metrics-port', 'N', 'port of the control plane’s metrics', { or: 9464, variable: 'METRICS_PORT' }],
    [
      'gateway-metrics-port',
      'N',
      'port of the gateway’s metrics',
      { or: 9465, variable: 'GATEWAY_METRICS_PORT' },
    ],
    [
      'gateway-workers',
      'N|auto',
      'gateways that share the port for agents; more than one needs redis',
      { or: '1', variable: 'GATEWAY_WORKERS' },
    ],
    ['bus', 'KIND', 'redis or memory (default: redis where there is one)', { one: ['redis', 'memory'] }],
    ['agents', 'N', 'simulated agents; 0 for none', { or: 200 }],
    ['no-host-agent', undefined, 'do not make this machine a device'],
    [
      'show-admin',
      undefined,
      'print the administrator’s credentials again; with a server running, just that',
    ],
    ['reset', undefined, 'forget all data of earlier starts first'],
    ['watch', undefined, 'build and start again when a source file changes'],
  ],
  demo: [
    ['agents', 'N', 'simulated agents', { or: 100, least: 1, most: 5_000 }],
    ['seconds', 'N', 'how long they heartbeat', { or: 10, most: 86_400 }],
    ['seed', 'N', 'makes choices repeatable', { or: 1 }],
    [
      'transport',
      'MIX',
      'websocket, mqtt, mqtt-ws, mix, or weights as in websocket=70,mqtt=30',
      { or: 'websocket' },
    ],
    ['bus', 'KIND', 'redis or memory (default: redis where there is one)', { one: ['redis', 'memory'] }],
    ['json', undefined, 'print one JSON object instead of a table'],
  ],
  token: [
    ['data', 'DIR', 'the data folder of the running server', { or: '.svc', variable: 'SVC_DATA' }],
    [
      'fresh',
      undefined,
      'log in anew with a new code (up to 30 s): for what answers MFA_REQUIRED ten minutes after a login',
    ],
  ],
}

/** Switches that npm has, too: it may have been told them in a file of its own. */
const ofNpm = ['json']

const runOf = (command) => (command === 'start' ? 'start' : `run -s ${command}`)

const purposes = {
  start:
    'Starts the whole product: database, bus, control plane, gateway, simulated agents and an agent of this machine.',
  demo: 'Runs the main job on a system of its own, checks it from outside, and cleans up.',
  token: 'Logs in to the running server and prints an access token.',
}

/** Something in the command line is wrong; the message says what, in one line. */
export class UsageError extends Error {}

export function help(command) {
  const rows = switches[command].map(([name, value, purpose, { or, variable } = {}]) => {
    const given = `--${name}${value ? ` ${value}` : ''}`
    const notes = [or === undefined ? '' : `default ${or}`, variable ?? ''].filter(Boolean).join(', ')
    return `  ${given.padEnd(26)}${purpose}${notes ? ` (${notes})` : ''}`
  })
  const more =
    command === 'start'
      ? ['', 'DATABASE_URL and REDIS_URL name servers to use instead of own ones; see docs/operations.md.']
      : []
  const usage = `npm ${runOf(command)} -- [switches]`
  return [purposes[command], '', usage, '', ...rows, `  ${'--help'.padEnd(26)}this text`, ...more].join('\n')
}

/**
 * The switches as an object (`--no-host-agent` is `noHostAgent`), or `{help: true}`.
 * @param {'start' | 'demo' | 'token'} command
 */
export function parseSwitches(command, args, env = process.env) {
  refuseSwallowed(command, env)
  const { values } = parse(command, args)
  if (values.help) return { help: true }
  const pairs = switches[command].map(([name, value, , rule = {}]) => {
    const given = values[name] ?? (rule.variable && env[rule.variable]) ?? rule.or
    return [camel(name), value ? check(name, value, given, rule) : given === true]
  })
  const wanted = Object.fromEntries(pairs)
  if (wanted.bus === 'memory' && wanted.gatewayWorkers !== '1' && command === 'start')
    throw new UsageError(
      `--gateway-workers ${wanted.gatewayWorkers} needs redis: leave out --bus memory, or have one worker`,
    )
  return wanted
}

/** npm takes switches before a bare `--` for its own, and leaves a trace of them in the environment. */
function refuseSwallowed(command, env) {
  const names = switches[command].map(([name]) => name).filter((name) => !ofNpm.includes(name))
  const taken = names.find((name) => env[`npm_config_${name.replaceAll('-', '_')}`] !== undefined)
  if (!taken || !env['npm_lifecycle_event']) return
  throw new UsageError(
    `npm took --${taken} for its own: put -- in front of the switches, as in npm ${runOf(command)} -- --${taken}`,
  )
}

function parse(command, args) {
  const negative = args.findIndex((arg, i) => /^-\d/.test(arg) && args[i - 1]?.startsWith('--'))
  if (negative > 0)
    throw new UsageError(`${args[negative - 1]} needs a number from 0 on, not ${args[negative]}`)
  const known = switches[command].map(([name, value]) => [name, { type: value ? 'string' : 'boolean' }])
  try {
    return parseArgs({
      args,
      strict: true,
      options: { ...Object.fromEntries(known), help: { type: 'boolean', short: 'h' } },
    })
  } catch (error) {
    throw new UsageError(misread(error))
  }
}

function check(name, kind, given, { one, least = 0, most = name.endsWith('port') ? 65_535 : 1_000_000 }) {
  if (kind === 'N|off' ? given === 'off' : kind !== 'N') {
    if (one && given !== undefined && !one.includes(given))
      throw new UsageError(`--${name} is ${one.join(' or ')}`)
    return given
  }
  const number = Number(given)
  if (!/^\d+$/.test(String(given)) || number < least || number > most)
    throw new UsageError(`--${name} needs a number from ${least} to ${most}, not ${given}`)
  return number
}

const camel = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase())
