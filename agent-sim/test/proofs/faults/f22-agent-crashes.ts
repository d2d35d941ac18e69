import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { newScript } from '../../system/harness/work.ts'
import { until } from '../../system/harness/until.ts'
import { startFleetProcess } from '../fleets.ts'
import { all, none } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { otherThan } from './states.ts'

const agents = 3
const scriptSeconds = 4
const endsWithinMs = 20_000
const plantedPatienceMs = 6_000

/** Agents die amid their scripts, between what their ledgers say of the start and any report of the end. */
export const agentCrashes: Fault = {
  id: 'F22',
  fault: 'agent crashes amid a script',
  expected: 'interrupted, and not run again',
  plant: {
    guard: 'the ledger: it is gone when the agent is back',
    noticed: /did not end as interrupted/,
  },
  run: async (scene) => {
    const { system, props, api } = scene
    const name = `crashing-${randomUUID().slice(0, 8)}`
    const fleet = await props.cast.present(name, agents)
    const ids: string[] = []
    for (const { deviceId } of fleet.devices) {
      const { payload } = newScript(scriptSeconds)
      const askedAt = Date.now()
      const id = await api.send(deviceId, 'run_script', payload)
      scene.accept({ id, deviceId, askedAt, end: 'interrupted' }, payload)
      ids.push(id)
    }
    const begun = () => fleet.effects().filter(({ commandId }) => ids.includes(commandId)).length
    await until('all have begun', () => begun() === ids.length)
    await until('the server knows', async () => (await otherThan(scene, 'running', ids)).length === 0)
    await fleet.program.kill()
    if (scene.planted)
      for (const { deviceId } of fleet.devices)
        rmSync(join(fleet.folder, 'devices', deviceId), { recursive: true })
    fleet.program = (await startFleetProcess(system, name, agents)).program
    const ended = async () => (await otherThan(scene, 'interrupted', ids)).length === 0
    await until('all have ended', ended, scene.planted ? plantedPatienceMs : endsWithinMs).catch(
      () => undefined,
    )
    return [
      none('commands that did not end as interrupted', await otherThan(scene, 'interrupted', ids)),
      all('times that they were begun', ids.length, begun()),
    ]
  },
}
