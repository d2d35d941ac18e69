import { setTimeout as sleep } from 'node:timers/promises'
import { pick } from '../random.ts'
import { all, none } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { ask, insist, madeBy, newRequest, statementOf } from './request.ts'
import type { Scene } from './scene.ts'

/** Transactions whose end may stay unknown: of callers, and of workers. */
const kinds = [/insert into commands/, /update commands c set status/, /update device_presence/] as const
const cutEveryMs = 700
const happensWithinMs = 10_000

/** Connections to Postgres are reset the moment a COMMIT is written, again and again. */
export const commitUnknown: Fault = {
  id: 'F5',
  fault: 'outcome of a COMMIT unknown',
  expected: 'one row; the caller sees success or is told to try again; no effect twice',
  plant: {
    guard: 'the key: callers repeat requests without one',
    withoutKeys: true,
    noticed: /outcome is neither/,
  },
  run: async (scene) => {
    const { wires, props, random } = scene
    const asked = await askedOnce(scene)
    let cuts = 0
    let wanted = 0
    for (const end = Date.now() + 500 * props.seconds; Date.now() < end; await sleep(cutEveryMs)) {
      const of = wanted < kinds.length ? (kinds[wanted] ?? kinds[0]) : pick(kinds, random)
      wanted++
      const happened = wires.postgres.strike(of, 'cut').then(() => true)
      if (await Promise.race([happened, sleep(happensWithinMs, false)])) cuts++
    }
    return [...asked, all('connections cut as a COMMIT was written', wanted, cuts)]
  },
}

/** One request whose COMMIT is cut: what it is told, and what it is told when it asks again. */
async function askedOnce(scene: Scene) {
  const [deviceId = ''] = scene.ids
  const request = newRequest(deviceId)
  const cut = scene.wires.postgres.strike(statementOf(request), 'cut')
  const [told] = await Promise.all([ask(scene, request), cut])
  const made = await madeBy(scene, request)
  const id = await insist(scene, request)
  const after = await madeBy(scene, request)
  return [
    none(
      'answers to it but success and “try again”',
      told && [201, 503].includes(told.status) ? [] : [`it was told ${told?.status ?? 'nothing'}`],
    ),
    all('commands that were made by it, before it was asked again', 1, made.length),
    none(
      '… and after that, but the one that it was told of',
      after.filter((one) => one !== id),
    ),
  ]
}
