import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api } from '../../system/harness/api.ts'
import { presenceRows } from '../../system/harness/presence.ts'
import { until } from '../../system/harness/until.ts'
import { none } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { otherTime, setClock } from './other-time.ts'
import type { Scene } from './scene.ts'

/** An hour ahead, an hour back, and right again. */
const jumps = 3
const keyLivesMs = 1_500
/** Between two servers' clocks. */
const skewMs = 5_000

/** The clocks of all control planes, and then of all gateways, are set while they run. The database's is right. */
export const clockJumps: Fault = {
  id: 'F23',
  fault: 'server clock set an hour ahead, and back',
  expected: 'nobody goes offline or is cut; logins go on; what has expired stays so',
  variables: otherTime(),
  plant: {
    guard: 'the time that all servers share: each goes by its host',
    variables: { SVC_TEST_WITHOUT: 'shared_time' },
    noticed: /offline|future|refused|over/,
  },
  run: async (scene) => {
    const { system, props } = scene
    const began = await databaseNow(scene)
    const before = await epochs(scene)
    const askDead = await deadKey(scene)
    const admitted: string[] = []
    const early: string[] = []
    for (const programs of [
      [system.controlPlane(0), system.controlPlane(1)],
      [system.gateway(0), system.gateway(1)],
    ])
      for (let jump = 0; jump < jumps; jump++) {
        for (const program of programs) program.signal(setClock)
        // As long as a gateway may take to ask what time it is, and something is written down by what it said.
        await sleep(Math.max(props.pace.exchangeMs, props.pace.heartbeatMs) + 1_000)
        const status = await askDead()
        if (status !== 401) admitted.push(`${status} after jump ${jump + 1}`)
        early.push(...(await fromTheFuture(scene)))
      }
    const after = await epochs(scene)
    return [
      none('devices that were taken offline', await takenOffline(scene, began)),
      none(
        'devices whose connection was cut',
        scene.ids.filter((id) => before.get(id) !== after.get(id)),
      ),
      none('devices that were heard from in the future', early),
      none('requests with a key that is over that were let in', admitted),
    ]
  },
}

async function databaseNow({ system: { sql } }: Scene): Promise<Date> {
  const [row] = await sql<{ now: Date }[]>`select now()`
  if (!row) throw new Error('the database told no time')
  return row.now
}

const epochs = async ({ system: { sql } }: Scene): Promise<Map<string, number>> =>
  new Map((await presenceRows(sql)).map(({ deviceId, epoch }) => [deviceId, epoch]))

/** Asks with an API key that was good and is over; the status of the answer. */
async function deadKey({ api, system, props }: Scene): Promise<() => Promise<number>> {
  const { key } = await api.want<{ key: string }>(201, 'POST', '/api-keys', {
    orgId: system.tenant.organizationId,
    name: `short-lived ${randomUUID()}`,
    scopes: ['devices:read'],
    expiresAt: new Date(Date.now() + keyLivesMs),
  })
  const anybody = new Api(system.apiUrl)
  const ask = async () =>
    (await anybody.ask('GET', '/devices?limit=1', undefined, { 'x-api-key': key })).status
  const first = await ask()
  if (first !== 200) throw new Error(`a key that is good was answered ${first}`)
  await until('the key is over', async () => (await ask()) === 401, keyLivesMs + 10 * props.pace.heartbeatMs)
  return ask
}

const fromTheFuture = async ({ system: { sql } }: Scene): Promise<string[]> =>
  (
    await sql<{ deviceId: string }[]>`
      select device_id from device_presence where last_seen_at > now() + make_interval(secs => ${skewMs / 1000})`
  ).map(({ deviceId }) => deviceId)

const takenOffline = async ({ system: { sql } }: Scene, since: Date): Promise<string[]> =>
  (
    await sql<{ subjectId: string }[]>`
      select subject_id from outbox where type = 'device.offline' and at >= ${since}`
  ).map(({ subjectId }) => subjectId)
