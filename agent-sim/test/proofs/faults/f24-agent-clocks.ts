import { until } from '../../system/harness/until.ts'
import { newScript } from '../../system/harness/work.ts'
import { idsOf } from '../cast.ts'
import type { FleetProcess } from '../fleets.ts'
import { all, none, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { otherTime } from './other-time.ts'
import type { Scene } from './scene.ts'

const yearMs = 365 * 86_400_000
const agentsEach = 3
const onlineWithinMs = 60_000
const endedWithinMs = 30_000
/** A command that lives this long is long over by a clock that is a year ahead. */
const livesMs = 3_600_000
/** Nothing takes longer here: a time that is further away was not the server's. */
const soonMs = 600_000

/** Agents whose clocks are a year ahead, and a year behind. */
export const agentClocks: Fault = {
  id: 'F24',
  fault: 'agents’ clocks wrong by a year',
  expected: 'they enroll, beat and work; all times are the server’s',
  plant: {
    guard: 'the time that the server tells: agents go by their own',
    variables: { SVC_TEST_WITHOUT: 'server_time' },
    noticed: /succeeded|wrong time/,
  },
  run: async (scene) => {
    const { cast } = scene.props
    const fleets: (FleetProcess & { onlineMs: number })[] = []
    for (const [name, aheadMs] of [
      ['ahead', yearMs],
      ['behind', -yearMs],
    ] as const)
      fleets.push(await cast.fleet(name, agentsEach, onlineWithinMs, {}, otherTime(aheadMs)))
    const ids = idsOf(fleets)
    const orders = await Promise.all(ids.map((id) => order(scene, id)))
    await until(
      'all have ended',
      async () => (await endedOf(scene, orders)).length === orders.length,
      endedWithinMs,
    )
      // What has not ended has not succeeded.
      .catch(() => undefined)
    const ended = await endedOf(scene, orders)
    return [
      within(
        'they are online',
        onlineWithinMs,
        fleets.map(({ onlineMs }) => onlineMs),
      ),
      all(
        'their commands that succeeded',
        orders.length,
        ended.filter(({ status }) => status === 'succeeded').length,
      ),
      none('rows of theirs with a wrong time', await wrongTimes(scene, ids)),
    ]
  },
}

async function order(scene: Scene, deviceId: string): Promise<string> {
  const askedAt = Date.now()
  const { payload, stdout } = newScript(0)
  const expiresAt = new Date(askedAt + livesMs).toISOString()
  const id = await scene.api.send(deviceId, 'run_script', payload, { expiresAt })
  scene.accept({ id, deviceId, askedAt, stdout }, payload)
  return id
}

const endedOf = ({ system: { sql } }: Scene, ids: readonly string[]) => sql<{ status: string }[]>`
  select status from commands where id = any(${ids as string[]}::uuid[]) and finished_at is not null`

/** Whatever the database knows of when something was with these devices, and cannot be true. */
async function wrongTimes({ system: { sql } }: Scene, deviceIds: readonly string[]): Promise<string[]> {
  const ids = deviceIds as string[]
  const rows = await sql<{ what: string; at: Date }[]>`
    select what, at from (
      select 'last seen' as what, last_seen_at as at from device_presence where device_id = any(${ids}::uuid[])
      union all select 'command delivered', delivered_at from commands where device_id = any(${ids}::uuid[])
      union all select 'command started', started_at from commands where device_id = any(${ids}::uuid[])
      union all select 'command finished', finished_at from commands where device_id = any(${ids}::uuid[])
      union all select 'inventory', collected_at from device_hardware where device_id = any(${ids}::uuid[])
    ) t where abs(extract(epoch from at - now())) * 1000 > ${soonMs}`
  return rows.map(({ what, at }) => `${what} ${at.toISOString()}`)
}
