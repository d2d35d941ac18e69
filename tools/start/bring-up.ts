import { chooseCarrier, openCarrier } from './bus.ts'
import type { RoleName } from './child.ts'
import { openDatabase } from './database.ts'
import type { Addresses, DataFolder, Demo } from './data-folder.ts'
import { Expected, type Progress, type StartOptions } from './options.ts'
import { type Part, startPart } from './processes.ts'
import {
  addressesOf,
  agentSettings,
  agentsPatienceMs,
  controlPlaneSettings,
  gatewaySettings,
  heartbeatMs,
} from './settings.ts'
import type { Agents } from './roles/agents.ts'
import type { Seeded } from './roles/server.ts'
import type { Stack } from './stack.ts'
import { describe } from './table.ts'

/** A part is a little slower to say so than to know it. */
const marginMs = 60_000

export interface Server {
  addresses: Addresses
  bus: 'redis' | 'memory'
  databaseUrl: string
  demo: Demo
  /** the demo tenant was made by this start */
  fresh: boolean
}

/** Database, bus, control plane and gateway, in this order, and the demo tenant. */
export async function bringUpServer(
  options: StartOptions,
  folder: DataFolder,
  stack: Stack,
  progress: Progress,
): Promise<Server> {
  const part = (name: RoleName) => stack.push(startPart(name, folder, progress.say))
  const choice = chooseCarrier(options)
  const opening = openDatabase(folder, progress.say)
  stack.pushStarting(
    'PostgreSQL',
    opening.then(({ running }) => running),
  )
  const carrier = await progress.step(
    'bus',
    () => openCarrier(folder.redis, choice),
    ({ what }) => what,
  )
  if (carrier.running) stack.push(carrier.running)
  const together = !carrier.url
  // Loading code takes as long as the database needs to start, so they do so at the same time.
  const control = part(together ? 'server' : 'control-plane')
  const edge = together ? undefined : part('gateway')
  const database = await progress.step(
    'database',
    () => opening,
    ({ what }) => what,
  )

  const settings = {
    ...controlPlaneSettings(options, folder, database.url, carrier.url),
    ...(together ? gatewaySettings(options, folder, undefined) : {}),
  }
  const addresses = addressesOf(options)
  const seeded = await progress.step(
    'control plane',
    () => control.begin<Seeded>(settings),
    () => `control plane on ${addresses.api}`,
  )
  if (edge) {
    await progress.step(
      'gateway',
      () => edge.begin(gatewaySettings(options, folder, carrier.url)),
      () => `gateway${workersOf(options)} on ${addresses.gateway}`,
    )
  }
  const bus = together ? 'memory' : 'redis'
  return { addresses, bus, databaseUrl: database.url, demo: secretsOf(folder), fresh: seeded.fresh }
}

const workersOf = ({ gatewayWorkers }: StartOptions): string =>
  gatewayWorkers === '1' ? '' : ` (workers: ${gatewayWorkers})`

/** The secrets of the demo tenant, which the start that made it has kept. */
function secretsOf(folder: DataFolder): Demo {
  const demo = folder.demo.read()
  if (demo) return demo
  throw new Expected(
    `The database was set up by a start on another data folder than ${folder.path}, which has its secrets: use that, or begin anew with --reset.`,
  )
}

/** Everything: the server, simulated agents, and an agent of this machine. Resolves when all that is up and told. */
export async function bringUp(
  options: StartOptions,
  folder: DataFolder,
  stack: Stack,
  progress: Progress,
): Promise<void> {
  const { addresses, databaseUrl, demo, fresh } = await bringUpServer(options, folder, stack, progress)
  folder.database.write({ url: databaseUrl })
  folder.running.write(addresses)

  const part = (name: RoleName) => stack.push(startPart(name, folder, progress.say))
  const host = options.noHostAgent ? undefined : part('host')
  const fleet = options.agents === 0 ? undefined : part('fleet')
  const begin = (agents: Part, state: string) =>
    agents.begin<Agents>(agentSettings(options, state, demo), agentsPatienceMs(options) + marginMs)
  const fleetBegun = fleet && begin(fleet, folder.agents)
  fleetBegun?.catch(() => undefined) // awaited below
  const thisMachine =
    host &&
    (await progress.step(
      'agent of this machine',
      () => begin(host, folder.host),
      ({ connected }) => `agent of this machine${connected ? '' : ' is NOT connected: see logs/host.log'}`,
    ))
  const simulated =
    fleetBegun &&
    (await progress.step(
      'simulated agents connect',
      () => fleetBegun,
      ({ connected, spread }) =>
        `${connected === options.agents ? connected : `only ${connected} of ${options.agents}`} simulated agents are connected (${spread}), a heartbeat each ${heartbeatMs / 1000} s`,
    ))

  const summary = describe({
    addresses,
    metrics: {
      controlPlane: `http://127.0.0.1:${options.metricsPort}/metrics`,
      gateway: `http://127.0.0.1:${options.gatewayMetricsPort}/metrics`,
    },
    data: folder.path,
    admin: fresh || options.showAdmin ? demo : undefined,
    deviceId: thisMachine?.deviceId ?? simulated?.deviceId,
    tokenSwitches: options.data === '.svc' ? '' : ` -- --data ${folder.path}`,
  })
  console.log(summary.join('\n'))
}
