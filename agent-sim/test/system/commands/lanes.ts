import { lanes } from '@svc/proto'
import { expect } from 'vitest'
import { inParallel } from '../harness/work.ts'
import type { Stage } from './stage.ts'

/** Per device and lane, the most that was in flight at once, by what the database noted. */
const mostInFlight = ({ system }: Stage, deviceIds: readonly string[]) => system.sql<
  { deviceId: string; lane: keyof typeof lanes; most: number }[]
>`
  select device_id, lane, max(busy)::int as most from (
    select c.device_id, c.lane, sum(case when s.status in ('delivered', 'running') then 1 else -1 end)
      over (partition by c.device_id, c.lane order by s.n) as busy
    from (select n, command_id, status,
        coalesce(lag(status) over (partition by command_id order by n), 'queued') as before from witness.states) s
      join commands c on c.id = s.command_id
    where c.device_id = any(${[...deviceIds]}::uuid[]) and (s.status in ('delivered', 'running')) <> (s.before in ('delivered', 'running'))) moves
  group by device_id, lane`

/** Ends when it is told to, and so nothing here depends on how fast a machine is. */
const stuck = 'sleep 600'
const endsOnCancel = { end: 'cancelled', mayEnd: ['cancelled'] }

/**
 * One lane after the other is stuck: what is in the others goes on at once, and no lane ever has more in flight than it may. No type of
 * command is in the bulk lane, so scripts are put there in their rows, before anybody is offered them.
 */
export async function stuckLanes(stage: Stage, deviceIds: readonly string[]): Promise<void> {
  await Promise.all(deviceIds.map((deviceId) => stuckOn(stage, deviceId)))
  // Of what is short its beginning and its end may be noted at once, as if it had never been in flight.
  const most = await mostInFlight(stage, deviceIds)
  for (const { lane, most: busy } of most) expect(busy, lane).toBeLessThanOrEqual(lanes[lane])
  // The bounds were reached, or it would say nothing that they were not passed.
  for (const deviceId of deviceIds) {
    const reached = most.filter((one) => one.deviceId === deviceId && one.most === lanes[one.lane])
    expect(reached.map(({ lane }) => lane)).toEqual(expect.arrayContaining(['work', 'bulk']))
  }
}

async function stuckOn(stage: Stage, deviceId: string): Promise<void> {
  const work = await Promise.all([1, 2].map(() => stage.script(deviceId, stuck, endsOnCancel)))
  await Promise.all(work.map((id) => stage.becomes(id, 'running')))
  const behind = await stage.script(deviceId, 'echo behind', { stdout: 'behind\n' })
  const first = await inBulk(stage, deviceId)
  const second = await inBulk(stage, deviceId)
  await stage.becomes(first, 'running')
  await quick(stage, deviceId)
  for (const id of [...work, first]) expect(await stage.state(id)).toBe('running')
  for (const id of [behind, second]) expect(await stage.state(id)).toBe('queued')
  await cancelled(stage, deviceId, first)
  await stage.becomes(second, 'running')
  expect(await stage.state(behind)).toBe('queued')
  await Promise.all([...work, second].map((id) => cancelled(stage, deviceId, id)))
  await stage.becomes(behind, 'succeeded')
}

async function inBulk(stage: Stage, deviceId: string): Promise<string> {
  const id = await stage.script(deviceId, stuck, endsOnCancel)
  const { count } = await stage.system
    .sql`update commands set lane = 'bulk' where id = ${id} and status = 'queued' and lease_until is null`
  expect(count).toBe(1)
  return id
}

/** More of what is interactive than its lane has room for is done all the same. */
async function quick(stage: Stage, deviceId: string): Promise<void> {
  const ids: string[] = []
  await inParallel([1, 2, 3, 4, 5, 6, 7, 8], async () => {
    ids.push(await stage.api.send(deviceId, 'list_processes', { limit: 1 }))
  })
  for (const id of ids) stage.accepted.push({ id, deviceId })
  await Promise.all(ids.map((id) => stage.becomes(id, 'succeeded')))
}

async function cancelled(stage: Stage, deviceId: string, id: string): Promise<void> {
  await stage.api.want(200, 'POST', `/devices/${deviceId}/commands/${id}/cancel`)
  await stage.becomes(id, 'cancelled')
}
