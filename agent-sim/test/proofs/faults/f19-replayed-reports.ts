import { svc } from '@svc/proto'
import { until } from '../../system/harness/until.ts'
import { pickSome } from '../random.ts'
import { all, none } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice, type Held, reportsOf, say } from './hand-device.ts'
import type { Scene } from './scene.ts'
import { otherThan } from './states.ts'

const count = 8
const times = 3

/** A device says everything three times and in any order, and all of it again when an hour has passed, with other words, too. */
export const replayedReports: Fault = {
  id: 'F19',
  fault: 'duplicate, reordered and late reports',
  expected: 'the same final state; what has ended is not opened again',
  plant: {
    guard: 'what the database knows of ended commands: that they have',
    noticed: /has changed/,
  },
  run: async (scene) => {
    const device = await HandDevice.enroll(scene, 'stammers')
    device.conduct = 'ignores'
    const taken = await device.order({}, { mayEnd: ['cancelled'] })
    await scene.api.want(200, 'POST', `/devices/${device.id}/commands/${taken}/cancel`)
    const ids: string[] = []
    for (let n = 0; n < count; n++) ids.push(await device.order())
    const held = await device.connect(0)
    await until('it is given the first of them', () => held.given.length > 0)
    for (const id of ids) device.carriedOut(id)
    await sayShuffled(scene, held, ids)
    await until('all have ended', async () => (await otherThan(scene, 'succeeded', ids)).length === 0)
    await anHourLater(scene, [...ids, taken])
    const before = await rowsOf(scene, [...ids, taken])
    if (scene.planted) await forgetEnds(scene, ids)
    await sayShuffled(scene, held, ids)
    const { FAILED, TIMED_OUT } = svc.v1.Outcome
    for (const id of ids)
      for (const outcome of [FAILED, TIMED_OUT])
        for (const body of reportsOf(id, outcome)) await say(held.hand, body)
    for (const body of reportsOf(taken)) await say(held.hand, body)
    await until('the last word is heard', () => isLate(scene, taken))
    const after = await rowsOf(scene, [...ids, taken])
    return [
      all(
        'commands of which all was said three times in any order',
        count,
        ids.length - (await otherThan(scene, 'succeeded', ids)).length,
      ),
      none(
        'ended commands of which anything has changed by what came an hour late',
        [...before]
          .filter(([id, row]) => after.get(id) !== row)
          .map(([id]) => `${id}: ${before.get(id)} to ${after.get(id)}`),
      ),
      none('… of those, what was taken back', await otherThan(scene, 'cancelled', [taken])),
    ]
  },
}

async function sayShuffled(scene: Scene, held: Held, ids: readonly string[]): Promise<void> {
  const all = Array.from({ length: times }, () => ids.flatMap((id) => reportsOf(id))).flat()
  await Promise.all(pickSome(all, all.length, scene.random).map((body) => say(held.hand, body)))
}

/** What an operator sees of each. */
async function rowsOf({ system: { sql } }: Scene, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; row: string }[]>`
    select id, concat_ws(' ', status, exit_code, error, stdout, finished_at, result_at) as row
    from commands where id = any(${[...ids]}::uuid[])`
  return new Map(rows.map(({ id, row }) => [id, row]))
}

async function isLate({ system: { sql } }: Scene, id: string): Promise<boolean> {
  return (await sql`select from commands where id = ${id} and late_result is not null`).length > 0
}

const anHourLater = ({ system: { sql } }: Scene, ids: readonly string[]) => sql`
  update commands set created_at = created_at - interval '1 hour', delivered_at = delivered_at - interval '1 hour',
    started_at = started_at - interval '1 hour', finished_at = finished_at - interval '1 hour',
    result_at = result_at - interval '1 hour'
  where id = any(${[...ids]}::uuid[])`

const forgetEnds = ({ system: { sql } }: Scene, ids: readonly string[]) => sql`
  update commands set status = 'running', finished_at = null, result_at = null where id = any(${[...ids]}::uuid[])`
