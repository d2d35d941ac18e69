import { setTimeout as sleep } from 'node:timers/promises'
import { presenceRows } from '../../system/harness/presence.ts'
import { until } from '../../system/harness/until.ts'
import { all, none, type Row, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice } from './hand-device.ts'
import { residentBytes } from './memory.ts'
import type { Scene } from './scene.ts'

const partitioned = 0
const reconciledWithinMs = 60_000
const plantedPatienceMs = 10_000
const growth = 0.1
/** A share of a process that has just been started is less than what a collection of garbage puts off. */
const slackBytes = 16 * 1024 * 1024

/** A gateway hears nothing from Redis and all control planes, which do not hear it; nobody closes anything. First the latter come back. */
export const gatewayPartitioned: Fault = {
  id: 'F16',
  fault: 'network partition between a gateway and the rest',
  expected: 'connections stay, no new work, memory ± 10 %; reconciled 60 s after it heals',
  plant: {
    guard: 'the exchange, by which gateways hand up what they hold',
    variables: { SVC_TEST_WITHOUT: 'exchange_up' },
    noticed: /heard once the control planes are back/,
  },
  run: async (scene) => {
    const { system, wires, props } = scene
    const device = await HandDevice.enroll(scene, 'cut-off')
    const held = await device.connect(partitioned)
    await device.known()
    // The result is what it holds back.
    device.conduct = 'ignores'
    const before = await device.order()
    await until('it is given a command', () => held.given.includes(before))
    const here = await epochsOf(scene, system.nodeOf(partitioned))
    const bytes = await residentBytes(system.gateway(partitioned).pid)
    for (const wire of [wires.redis, ...wires.exchange]) wire.mode = 'silent'
    device.carryOut(before, held)
    const meanwhile = await device.order()
    await sleep(1_500 * props.seconds)
    const grown = (await residentBytes(system.gateway(partitioned).pid)) - bytes
    const given = held.given.filter((id) => id === meanwhile)
    for (const wire of wires.exchange) wire.mode = 'pass'
    device.conduct = 'carries-out'
    const patienceMs = scene.planted ? plantedPatienceMs : reconciledWithinMs
    const heardMs = await heardAfter(scene, [before, meanwhile], patienceMs)
    wires.redis.mode = 'pass'
    const rows = await epochsOf(scene, system.nodeOf(partitioned))
    return [
      all(
        'its agents that kept their connection',
        here.size,
        [...here].filter(([id, epoch]) => rows.get(id) === epoch).length,
      ),
      none('commands that were given to its agents meanwhile', given),
      memoryRow(bytes, grown),
      within('work of its agents is heard once the control planes are back', reconciledWithinMs, [heardMs]),
    ]
  },
}

function memoryRow(bytes: number, grown: number): Row {
  const mib = (count: number) => `${(count / 1024 / 1024).toFixed(0)} MiB`
  const limit = Math.max(growth * bytes, slackBytes)
  return {
    what: 'memory of the gateway that was added',
    expected: `≤ ${mib(limit)} to ${mib(bytes)}`,
    seen: mib(grown),
    pass: grown <= limit,
  }
}

async function heardAfter(
  { system: { sql } }: Scene,
  ids: readonly string[],
  patienceMs: number,
): Promise<number> {
  const began = Date.now()
  const heard = async () =>
    (await sql`select from commands where id = any(${[...ids]}::uuid[]) and status = 'succeeded'`).length ===
    ids.length
  return until('it is heard', heard, patienceMs).then(
    () => Date.now() - began,
    () => Number.POSITIVE_INFINITY,
  )
}

/** Of the devices of that node. */
async function epochsOf({ system }: Scene, node: string): Promise<Map<string, number>> {
  const rows = await presenceRows(system.sql)
  return new Map(rows.filter((row) => row.node === node).map(({ deviceId, epoch }) => [deviceId, epoch]))
}
