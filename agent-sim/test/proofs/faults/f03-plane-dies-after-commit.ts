import { numbers } from '../../system/harness/numbers.ts'
import { until } from '../../system/harness/until.ts'
import { none, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice } from './hand-device.ts'
import { ask, insist, madeBy, newRequest, statementOf } from './request.ts'

const struck = 0
/** What a busy machine may add to a span that is measured from outside. */
const slackMs = 2_000
const plantedPatienceMs = 8_000

/** A control plane dies when a command is committed, and before anybody hears of it: neither workers nor whoever asked for it. */
export const planeDiesAfterCommit: Fault = {
  id: 'F3',
  fault: 'control plane dies between commit and publish',
  expected: 'delivered within a heartbeat; asked again with its key: the same id',
  plant: {
    guard: 'heartbeats, with which what is owed is offered: the device sends none',
    noticed: /from its commit to its device/,
  },
  run: async (scene) => {
    const { props, wires } = scene
    const device = await HandDevice.enroll(scene, 'told-late')
    const held = await device.connect(1)
    await device.known()
    if (scene.planted) held.quiet()
    const request = newRequest(device.id)
    const committed = wires.postgres.strike(statementOf(request), 'unanswered')
    const answer = ask(scene, request)
    await committed
    const at = Date.now()
    await scene.killControlPlane(struck)
    // Its shards are another worker's when their lease has run out.
    const limitMs = props.pace.heartbeatMs + numbers.workerLeaseMs + numbers.workerRenewMs + slackMs
    const patienceMs = scene.planted ? plantedPatienceMs : 2 * limitMs
    const took = await until('it is given the command', () => held.given.length > 0, patienceMs).then(
      () => Date.now() - at,
      () => Number.POSITIVE_INFINITY,
    )
    const told = await answer
    await scene.restartControlPlane(struck)
    const id = await insist(scene, request)
    const made = await madeBy(scene, request)
    return [
      none('answers to a request whose server died', told ? [`it was answered ${told.status}`] : []),
      within('from its commit to its device', limitMs, [took]),
      none(
        'other commands than that of the first, by the same key',
        made.filter((one) => one !== id || !held.given.includes(id)),
      ),
    ]
  },
}
