import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../system/harness/until.ts'
import { none } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice } from './hand-device.ts'
import { ask, insist, madeBy, newRequest, statementOf } from './request.ts'
import type { Scene } from './scene.ts'

const struck = 0

/** A control plane dies when all of a command is written, and before it is committed. */
export const planeDiesBeforeCommit: Fault = {
  id: 'F4',
  fault: 'control plane dies in a transaction',
  expected: 'no row, no record in the audit log, no event, no effect; asked again: one command',
  plant: {
    guard: 'the transaction: its COMMIT is carried out all the same',
    noticed: /traces of it/,
  },
  run: async (scene) => {
    const { props, wires } = scene
    const device = await HandDevice.enroll(scene, 'never-told')
    const held = await device.connect(1)
    await device.known()
    const request = newRequest(device.id)
    const reached = wires.postgres.strike(statementOf(request), scene.planted ? 'unanswered' : 'withheld')
    const answer = ask(scene, request)
    await reached
    await scene.killControlPlane(struck)
    const told = await answer
    // Long enough for whatever there is to reach the device with a heartbeat.
    await sleep(props.pace.heartbeatMs + props.pace.commandLeaseMs)
    const traces = [
      ...(await tracesOf(scene, device.id)),
      ...held.given.map((id) => `its device was given ${id}`),
    ]
    await scene.restartControlPlane(struck)
    const id = await insist(scene, request)
    await until('the device has carried it out', () => device.ledger.has(id))
    return [
      none('answers to a request whose server died', told ? [`it was answered ${told.status}`] : []),
      none('traces of it', traces),
      none(
        'commands by its key but the one that it was told when it asked again',
        (await madeBy(scene, request)).filter((one) => one !== id),
      ),
    ]
  },
}

/** What there is of commands for the device, wherever something would be. */
async function tracesOf({ system: { sql } }: Scene, deviceId: string): Promise<string[]> {
  const rows = await sql<{ where: string }[]>`
    select 'a command' as where from commands where device_id = ${deviceId}
    union all select 'a record in the audit log' from audit_log
      where action = 'device.command.send' and resource_id = ${deviceId}
    union all select 'an event' from outbox where type like 'command.%' and payload ->> 'deviceId' = ${deviceId}`
  return rows.map(({ where }) => where)
}
