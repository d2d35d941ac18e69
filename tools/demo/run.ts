import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Mix, parseMix } from '@svc/agent-sim'
import { setTimeout as sleep } from 'node:timers/promises'
import { bringUpServer } from '../start/bring-up.ts'
import { DataFolder } from '../start/data-folder.ts'
import { interrupted } from '../start/interrupt.ts'
import { Expected, type Progress, type StartOptions } from '../start/options.ts'
import { heartbeatMs } from '../start/settings.ts'
import { Stack } from '../start/stack.ts'
import { freePort } from '../services.ts'
import { login } from '../token/login.ts'
import { Api } from './api.ts'
import { randomFrom } from './devices.ts'
import { type DemoFleet, startDemoFleet } from './fleet.ts'
import { type Sent, sendMany, whileAway } from './job.ts'
import { byTransport, type DemoReport, describeReport, lostWork, percentile } from './report.ts'
import { Witness } from './witness.ts'

export interface DemoOptions {
  agents: number
  seconds: number
  seed: number
  /** a mix, see agent-sim */
  transport: string
  bus: StartOptions['bus']
  json: boolean
}

/** Runs the main job on a system of its own, prints what was seen, and cleans up. Non-zero when accepted work was lost. */
export async function run(options: DemoOptions, progress: Progress): Promise<number> {
  const mix = mixOf(options)
  const dir = mkdtempSync(join(tmpdir(), 'svc-demo-'))
  chmodSync(dir, 0o711) // the database may run as another user
  const stack = new Stack()
  const told = interrupted(() => process.exit(130)).then((signal) =>
    Promise.reject(new Error(`ended by ${signal}`)),
  )
  const crashed = stack.crashed.then((crash) => Promise.reject(new Error(crash)))
  try {
    const report = await Promise.race([
      demonstrate({ ...options, mix }, new DataFolder(dir).open(), stack, progress),
      told,
      crashed,
    ])
    console.log(options.json ? JSON.stringify(report) : describeReport(report).join('\n'))
    return report.errors.length === 0 ? 0 : 1
  } finally {
    await stack.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

function mixOf({ transport }: DemoOptions): Mix {
  try {
    return parseMix(transport)
  } catch (error) {
    throw new Expected(`--transport: ${(error as Error).message}`)
  }
}

async function demonstrate(
  options: DemoOptions & { mix: Mix },
  folder: DataFolder,
  stack: Stack,
  progress: Progress,
): Promise<DemoReport> {
  const errors: string[] = []
  const random = randomFrom(options.seed)
  const server = await bringUpServer(await serverOptions(options, folder), folder, stack, progress)
  const witness = new Witness(server.databaseUrl)
  stack.push({
    name: 'witness',
    stop: () => witness.close(),
    kill: () => undefined,
    exited: new Promise(() => undefined),
  })

  const fleet = await progress.step(`${options.agents} agents enrolled and connected`, async () => {
    const fleet = await startDemoFleet(
      server.addresses.api,
      server.demo.enrollmentKey,
      options.agents,
      options.mix,
      folder.agents,
    )
    stack.push({
      name: 'agents',
      stop: fleet.stop,
      kill: () => undefined,
      exited: new Promise(() => undefined),
    })
    await fleet.ready()
    return fleet
  })
  const end = Date.now() + options.seconds * 1000
  witness.watch()
  const { accessToken } = await login(server.addresses.api, server.demo, () => undefined)
  const api = new Api(server.addresses.api, accessToken)

  const sent = await progress.step('commands sent and read back', () =>
    sendMany(api, fleet.devices(), random, errors),
  )
  const away = await progress.step('a command for a device that is away', () =>
    whileAway(api, witness, fleet.traveller),
  )
  await progress.step('heartbeats counted', () => sleep(Math.max(0, end - Date.now())))
  await witness.stopWatching()
  return count({ ...options, ...server }, fleet, witness, sent, away, errors)
}

/** Puts together what the database and the ledgers say. */
async function count(
  { agents, bus }: { agents: number; bus: DemoReport['bus'] },
  fleet: DemoFleet,
  witness: Witness,
  sent: readonly Sent[],
  away: { sent: Sent; waited: boolean },
  errors: string[],
): Promise<DemoReport> {
  const statuses = await witness.commands()
  const everything = [...sent, away.sent]
  const connected = await witness.connected(3 * heartbeatMs)
  const succeeded = everything.filter(({ id }) => statuses.get(id) === 'succeeded').length
  const took = sent.map(({ tookMs }) => tookMs)
  if (connected.length !== agents) errors.push(`${connected.length} of ${agents} agents are connected`)
  if (!away.waited) errors.push('the command for the device that was away did not wait for it')
  if (statuses.size !== everything.length)
    errors.push(`${statuses.size} commands exist, ${everything.length} were accepted`)
  errors.push(...lostWork(everything, statuses))
  return {
    bus,
    transports: byTransport(fleet.vias(), connected, sent),
    agents,
    connected: connected.length,
    heartbeatsPersisted: witness.contacts,
    commands: {
      sent: everything.length,
      succeeded,
      failed: everything.length - succeeded,
      p50Ms: percentile(took, 0.5),
      p99Ms: percentile(took, 0.99),
    },
    offlineCommandRanOnce: away.waited && away.sent.device.executions(away.sent.id) === 1,
    updated: 0,
    errors,
  }
}

/** Free ports on loopback, and nothing but what the demo needs. */
async function serverOptions({ bus }: DemoOptions, folder: DataFolder): Promise<StartOptions> {
  const [port, gatewayPort, mqttPort, internalPort, metricsPort, gatewayMetricsPort] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(),
    freePort(),
    freePort(),
  ])
  return {
    data: folder.path,
    host: '127.0.0.1',
    port,
    gatewayPort,
    mqttPort,
    internalPort,
    metricsPort,
    gatewayMetricsPort,
    gatewayWorkers: '1',
    bus,
    agents: 0,
    noHostAgent: true,
    showAdmin: false,
    reset: false,
    watch: false,
  }
}
