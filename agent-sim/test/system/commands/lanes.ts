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

/**
 * One lane after the other is stuck: what is in the others goes on at once, and no lane ever has more in flight than it may. No type of
 * command is in the bulk lane, so scripts are put there in their rows, before anybody is offered them.
 */
export async function stuckLanes(stage: Stage, deviceIds: readonly string[]): Promise<void> {
  await Promise.all(deviceIds.map((deviceId) => stuckOn(stage, deviceId)))
  const most = await mostInFlight(stage, deviceIds)
  expect(most.length).toBe(3 * deviceIds.length)
  for (const { lane, most: busy } of most) expect(busy, lane).toBeLessThanOrEqual(lanes[lane])
  // The bounds were reached, or it would say nothing that they were not passed.
  const reached = most.filter(({ lane, most: busy }) => busy === lanes[lane])
  expect(reached.map(({ lane }) => lane)).toEqual(expect.arrayContaining(['work', 'bulk']))
}

async function stuckOn(stage: Stage, deviceId: string): Promise<void> {
  const stuck = await Promise.all([1, 2].map(() => stage.script(deviceId, 'sleep 4')))
  await Promise.all(stuck.map((id) => stage.becomes(id, 'running')))
  const behind = await stage.script(deviceId, 'echo behind', { stdout: 'behind\n' })
  const bulk = await Promise.all(
    [1, 2].map((n) => stage.script(deviceId, `echo bulk ${n}`, { stdout: `bulk ${n}\n` })),
  )
  await stage.system
    .sql`update commands set lane = 'bulk' where id = any(${bulk}::uuid[]) and status = 'queued'`
  const quick: string[] = []
  await inParallel([1, 2, 3, 4, 5, 6, 7, 8], async () => {
    quick.push(await stage.api.send(deviceId, 'list_processes', { limit: 1 }))
  })
  for (const id of quick) stage.accepted.push({ id, deviceId })
  await Promise.all([...quick, ...bulk].map((id) => stage.becomes(id, 'succeeded')))
  for (const id of stuck) expect(await stage.state(id)).toBe('running')
  expect(await stage.state(behind)).toBe('queued')
  await Promise.all([...stuck, behind].map((id) => stage.becomes(id, 'succeeded')))
}
