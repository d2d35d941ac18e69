import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../tools/services.ts'
import type { Bench, Ground } from '../method/contract.ts'
import { busyMicros } from '../method/cpu.ts'
import { cores, pin } from '../method/pin.ts'
import { type Served, startServed } from '../wire/calls.ts'
import type { ConnectOptions } from './command/answering.ts'
import { figures, measures } from './command/figures.ts'
import { giveHistory } from './command/history.ts'
import { giveTokens } from './command/identities.ts'
import { measureParts, sumOf } from './command/parts.ts'
import { Client } from './load/client.ts'
import { openLoad } from './load/open-loop.ts'
import { median, percentile } from './load/percentile.ts'
import { during } from './load/window.ts'
import type { Caller } from './stage/caller.ts'
import { openStage, type Stage } from './stage/stage.ts'

/** Devices that are not connected: what is measured apart is done to them. */
const spare = 200
const connectionsPerSecond = 1_000
const connectedWithinMs = 120_000
/** A caller waits for the end of its command for so long, as the interface allows. */
const waitMs = 30_000

interface Scene {
  ground: Ground
  stage: Stage
  caller: Caller
  agents: Served
  /** ids of the connected devices */
  devices: readonly string[]
  /** process numbers of everything between caller and device */
  servers: Record<string, number>
  perSecond: number
  seconds: number
}

/** `POST /devices/:id/commands` until the caller has the result, over row, Redis, gateway, device and back, with a fleet connected. */
export const command: Bench = {
  name: 'command',
  title: 'A command, from the request to its result at the caller',
  measures,
  figures,
  run,
}

async function run(ground: Ground): Promise<void> {
  const [perSecond, seconds] = ground.quick ? [10, 3] : [50, 20]
  const scene = { ...(await open(ground)), perSecond, seconds }
  const parts = ground.quick ? 30 : 200
  ground.peer({
    name: 'parts',
    configuration:
      'the sum of what a command is made of, each measured alone on the same servers: three transactions and a read by postgres.js without scope, four messages over Redis, two requests that do nothing, a heartbeat and its answer',
  })
  ground.progress('warming up')
  await roundTrips(scene, 0)
  await partsOf(scene, parts)
  for (let round = 1; round <= ground.rounds; round++) {
    ground.progress(
      `round ${round}: ${perSecond} commands a second, ${scene.devices.length} devices connected`,
    )
    const { seen, clientBusy } = await roundTrips(scene, round)
    ground.saw('ours', round, seen, clientBusy)
    ground.progress(`round ${round}: the parts, each alone`)
    const alone = await partsOf(scene, parts)
    ground.saw('parts', round, { ...alone, 'round trip p50': sumOf(alone) }, 0)
  }
}

async function open(ground: Ground): Promise<Omit<Scene, 'perSecond' | 'seconds'>> {
  const stage = await openStage(ground, { count: ground.scale + spare, tenants: 1, details: false })
  const identities = await giveTokens(stage.sql, ground.scale)
  await giveHistory(stage.sql, ground.scale, stage.place.userId)
  ground.progress('starting API, worker and gateway')
  const port = await freePort()
  const api = await stage.startControlPlane('api')
  const worker = await stage.startControlPlane('worker')
  const gateway = await stage.startGateway(port)
  const agents = await startServed('answering')
  ground.afterwards(() => agents.kill())
  pin(agents.pid, cores.client)
  ground.progress(`connecting ${ground.scale} agents`)
  const wanted: ConnectOptions = { port, identities, perSecond: connectionsPerSecond }
  await agents.call('connect', wanted)
  await allKnown(stage, ground.scale)
  return {
    ground,
    stage,
    caller: await stage.caller(),
    agents,
    devices: identities.map(({ deviceId }) => deviceId),
    servers: {
      api: api.pid,
      worker: worker.pid,
      gateway: gateway.pid,
      database: stage.postgres.pid,
      redis: stage.redis.pid,
    },
  }
}

/** A command is offered at once only to a device whose connection the database knows of. */
async function allKnown({ sql }: Stage, wanted: number): Promise<void> {
  for (const until = performance.now() + connectedWithinMs; ; await sleep(200)) {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from device_presence where node is not null`
    if (row?.count === wanted) return
    if (performance.now() > until)
      throw new Error(`the database knows of ${row?.count} of ${wanted} connections`)
  }
}

/** @param round so that no two rounds ask the same devices, where there are enough */
async function roundTrips(scene: Scene, round: number) {
  const { stage, caller, agents, devices, servers, perSecond, seconds } = scene
  const client = new Client(stage.apiUrl, await caller.headers())
  const creates: number[] = []
  const body = JSON.stringify({ type: 'run_script', payload: { interpreter: 'sh', content: 'true' } })
  const count = Math.round(perSecond * seconds)
  const ask = async (number: number) => {
    const commands = `/api/v1/devices/${devices[(round * count + number) % devices.length]}/commands`
    const began = performance.now()
    const { id } = await client.json<{ id: string }>(201, 'POST', commands, body)
    creates.push(performance.now() - began)
    const { status } = await client.json<{ status: string }>(200, 'GET', `${commands}/${id}?waitMs=${waitMs}`)
    if (status !== 'succeeded') throw new Error(`command ${id} is ${status}`)
  }
  const before = Number(await agents.call('taken'))
  const [busy, began] = [busyMicros(cores.client), performance.now()]
  try {
    const { value, cpu } = await during(servers, () => openLoad({ perSecond, seconds, ask }))
    const clientBusy = (busyMicros(cores.client) - busy) / ((performance.now() - began) * 1_000)
    const taken = Number(await agents.call('taken')) - before
    if (taken < count) throw new Error(`${count} commands succeeded, and the devices know of ${taken}`)
    const used = Object.values(cpu).reduce((sum, one) => sum + one, 0)
    const seen = {
      'round trip p50': median(value),
      'round trip p99': percentile(value, 0.99),
      'round trip max': percentile(value, 1),
      'create p50': median(creates),
      command: used / count,
    }
    return { seen, clientBusy: Math.min(1, clientBusy) }
  } finally {
    client.close()
  }
}

const partsOf = ({ stage, agents, devices }: Scene, count: number) =>
  measureParts(stage, { after: devices.length, count: spare }, count, async () =>
    Number(await agents.call('roundTrip', { count })),
  )
