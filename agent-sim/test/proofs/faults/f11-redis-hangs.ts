import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { until } from '../../system/harness/until.ts'
import { none, type Row, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice, type Held } from './hand-device.ts'
import { overrun } from './overrun.ts'
import type { Scene } from './scene.ts'

const struck = 0
const noticedWithinMs = 5_000
const foundWithinMs = 10_000
const rounds = 3

/** As in the field: nothing is found because a heartbeat is due soon, or a lease runs out. */
const variables = {
  HEARTBEAT_INTERVAL_MS: '60000',
  COMMAND_LEASE_MS: '30000',
  GONE_AFTER_MS: '90000',
  SILENT_AFTER_MS: '150000',
}

/** Redis stands still; loses all who listen; and cuts a gateway off that does not read. Whatever was published meanwhile is lost. */
export const redisHangs: Fault = {
  id: 'F11',
  fault: 'Redis hung, listeners killed, a buffer overrun',
  expected: 'noticed in 5 s; what was missed is found in 10 s; the gaps are counted',
  variables,
  plant: {
    guard: 'word of a gap: gateways do not tell of it, and nobody looks for what was missed',
    variables: { SVC_TEST_WITHOUT: 'gap_notice' },
    noticed: /found/,
  },
  run: async (scene) => {
    const device = await HandDevice.enroll(scene, 'missed')
    const held = await device.connect(struck)
    await device.known()
    const rows = scene.planted ? [] : await hang(scene, device, held)
    for (let round = 0; round < rounds; round++) rows.push(await deafen(scene, device, held))
    rows.push(...(await overrunRows(scene, device, held)))
    return [...rows, none('programs that count no gap', await uncounted(scene))]
  },
}

async function hang(scene: Scene, device: HandDevice, held: Held): Promise<Row[]> {
  const { system, props } = scene
  const before = told(scene)
  process.kill(system.redis.pid, 'SIGSTOP')
  const began = Date.now()
  const noticedMs = await until('it is noticed', () => told(scene) > before, 2 * noticedWithinMs).then(
    () => Date.now() - began,
    () => Number.POSITIVE_INFINITY,
  )
  const id = await device.order()
  const givenMs = await givenAfter(held, id)
  await sleep(Math.min(30_000, 500 * props.seconds))
  process.kill(system.redis.pid, 'SIGCONT')
  await until('the gateway is on the bus again', () => system.gateway(struck).log().includes('bus is up'))
  await sleep(1_000)
  return [
    within('a gateway notices that Redis stands still', noticedWithinMs, [noticedMs]),
    within('a command that is asked for meanwhile is found', foundWithinMs, [givenMs]),
  ]
}

/** How often the gateway said that it is away. */
const told = ({ system }: Scene): number => system.gateway(struck).log().split('bus is away').length

/** Nobody listens in the moment in which a command is accepted. */
async function deafen(scene: Scene, device: HandDevice, held: Held): Promise<Row> {
  const redis = new Redis(scene.system.redis.url)
  try {
    const killed = redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
    const id = await device.order()
    await killed
    return within('a command that nobody heard of is found', foundWithinMs, [await givenAfter(held, id)])
  } finally {
    redis.disconnect()
  }
}

/** A command lies in the buffer of a gateway that Redis gives up. */
async function overrunRows(scene: Scene, device: HandDevice, held: Held): Promise<Row[]> {
  const gateway = scene.system.gateway(struck)
  gateway.signal('SIGSTOP')
  const cut = await overrun(scene.system.redis.url, scene.system.nodeOf(struck), async () => {
    const id = await device.order()
    // Its offer is published once its worker has heard of it.
    await sleep(1_000)
    return id
  })
  gateway.signal('SIGCONT')
  return [
    none('gateways that do not read and are listened to for ever', cut.gone ? [] : ['it is still there']),
    within('a command that was lost in a buffer is found', foundWithinMs, [
      await givenAfter(held, cut.result),
    ]),
  ]
}

async function givenAfter(held: Held, id: string): Promise<number> {
  const began = Date.now()
  return until('it is given', () => held.given.includes(id), foundWithinMs + 1_000).then(
    () => Date.now() - began,
    () => Number.POSITIVE_INFINITY,
  )
}

async function uncounted(scene: Scene): Promise<string[]> {
  const [gateway, plane] = await Promise.all([
    scene.metric('gateway', 'svc_edge_redis_gaps_total'),
    scene.metric('controlPlane', 'svc_redis_gaps_total'),
  ])
  return [...(gateway > 0 ? [] : ['the gateway']), ...(plane > 0 ? [] : ['the control plane'])]
}
