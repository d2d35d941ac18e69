import type { CloseReason } from '@svc/proto'
import type { Site } from '../../../../control-plane/test/harness/make.ts'
import type { Api } from '../../system/harness/api.ts'
import { type Crowd, startCrowd } from '../../system/harness/crowd.ts'
import { until } from '../../system/harness/until.ts'
import { done } from '../revocation/ask.ts'
import { type Act, endsOf } from '../revocation/devices.ts'
import { none, type Row, within } from '../verdict.ts'
import { deviceRow, type Place } from './world.ts'

interface Way {
  what: string
  reason: CloseReason
  act: (admin: Api, id: string, elsewhere: Site) => Promise<void>
}

const ways: readonly Way[] = [
  {
    what: 'a quarantine',
    reason: 'QUARANTINED',
    act: (admin, id) => done(admin, 'POST', `/devices/${id}/quarantine`, { reason: 'lost' }),
  },
  {
    what: 'a decommission',
    reason: 'DECOMMISSIONED',
    act: (admin, id) => done(admin, 'DELETE', `/devices/${id}`),
  },
  {
    what: 'a move',
    reason: 'MOVED',
    act: (admin, id, { orgId, siteId }) => done(admin, 'POST', `/devices/${id}/move-org`, { orgId, siteId }),
  },
]

/** Devices with work under way and work that waits; what ends it ends all of it, within five seconds and for good. */
export async function standing(place: Place): Promise<Row[]> {
  const { office, home } = place
  const elsewhere = await office.make.site(await office.make.org(home.partnerId))
  const { key: enrollmentKey } = await office.make.enrollmentKey(home, { maxUsage: null })
  const crowds = await Promise.all(
    ways.map((_, index) =>
      startCrowd(place.system, {
        name: `standing-${index}`,
        agents: 3,
        transports: { websocket: 1, mqtt: 1, 'mqtt-ws': 1 },
        enrollmentKey,
      }),
    ),
  )
  const rows = await Promise.all(
    ways.map((way, index) => endedBy(place, way, crowds[index] as Crowd, elsewhere, index)),
  )
  await Promise.all(crowds.map((crowd) => crowd.fleet.kill()))
  return rows.flat()
}

/** Longer than everything that is looked at; nothing that is queued behind it starts before. */
const sleepers = 'sleep 5'

async function endedBy(place: Place, way: Way, crowd: Crowd, elsewhere: Site, index: number): Promise<Row[]> {
  const admin = place.admins[index % place.admins.length] as Api
  const script = (content: string) => ({ interpreter: 'sh', content })
  const give = async (id: string) => {
    const running: string[] = []
    // As many as a device takes at once of this lane, and one that waits behind them.
    for (let n = 0; n < 3; n++) running.push(await admin.send(id, 'run_script', script(sleepers)))
    return { id, waiting: running.at(-1) ?? '', commands: running }
  }
  const given = await Promise.all(crowd.ids.map(give))
  const group = await place.office.make.group(place.home, crowd.ids)
  const act: Act = { began: Date.now(), acted: 0 }
  await Promise.all(crowd.ids.map((id) => way.act(admin, id, elsewhere)))
  act.acted = Date.now()
  await until(
    'all are cut',
    () => endsOf(crowd, crowd.ids, act, way.reason).spansMs.every(Number.isFinite),
    15_000,
  ).catch(() => undefined)
  const { spansMs } = endsOf(crowd, crowd.ids, act, way.reason)
  const ids = given.flatMap(({ commands }) => commands)
  const open = await place.system.sql<{ id: string; status: string; error: string | null }[]>`
    select id, status, error from commands where id = any (${ids}::uuid[]) and (status <> 'cancelled' or error is null)`
  const rows = [
    within(`${way.what} cuts`, 5_000, spansMs),
    none(
      `commands that ${way.what} leaves`,
      open.map(({ id, status }) => `${id} is ${status}`),
    ),
  ]
  if (way.reason === 'MOVED') rows.push(...(await moved(place, admin, crowd, given, elsewhere, group)))
  const waited = new Set(given.map(({ waiting }) => waiting))
  const ran = crowd.executions().filter(({ commandId }) => waited.has(commandId))
  return [
    ...rows,
    none(
      `work that waited and reached a device after ${way.what}`,
      ran.map(({ commandId }) => commandId),
    ),
  ]
}

/** The device is the other organization's by now: it comes back as that one's, does its work, and has left its groups. */
async function moved(
  place: Place,
  admin: Api,
  crowd: Crowd,
  given: { id: string; commands: string[] }[],
  elsewhere: Site,
  group: string,
): Promise<Row[]> {
  const wrong: string[] = []
  const arrive = async ({ id }: { id: string }) => {
    const { orgId } = await deviceRow(place, id)
    if (orgId !== elsewhere.orgId) wrong.push(`${id} is in ${orgId}`)
    const command = await admin.send(id, 'refresh_inventory')
    const { status } = await admin.ended(id, command)
    if (status !== 'succeeded') wrong.push(`${id}: new work is ${status}`)
  }
  await Promise.all(given.map(arrive))
  const ids = given.flatMap(({ commands }) => commands)
  const { sql } = place.system
  const late =
    await sql`select id from commands where id = any (${ids}::uuid[]) and (late_result is not null or stdout is not null)`
  const groups = await sql`select device_id from device_group_members where group_id = ${group}`
  const children = await sql`
    select device_id from device_hardware where device_id = any (${crowd.ids}::uuid[]) and org_id <> ${elsewhere.orgId}
    union all select device_id from device_presence where device_id = any (${crowd.ids}::uuid[]) and org_id <> ${elsewhere.orgId}`
  return [
    none('devices that did not arrive', wrong),
    none(
      'what the old organization hears of a device that left',
      late.map(({ id }) => String(id)),
    ),
    none(
      'what stays behind in the old organization',
      [...groups, ...children].map((row) => String(row['deviceId'])),
    ),
  ]
}
