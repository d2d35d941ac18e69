import { setTimeout as sleep } from 'node:timers/promises'
import { none, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice } from './hand-device.ts'

const [first, second] = [0, 1]
const cutWithinMs = 10_000
const orders = 3

/** A gateway is cut off from Redis alone, and a device of it connects elsewhere: both think that it is theirs. */
export const splitBrain: Fault = {
  id: 'F17',
  fault: 'two gateways own one device',
  expected: 'the higher epoch wins everywhere: no command by the old one; that is cut 10 s after it heals',
  plant: {
    guard: 'word that a newer connection is known: gateways do not act upon it',
    variables: { SVC_TEST_WITHOUT: 'evictions' },
    noticed: /is cut/,
  },
  run: async (scene) => {
    const { wires, props } = scene
    const device = await HandDevice.enroll(scene, 'twice')
    const before = await device.connect(first)
    const epoch = await device.known()
    wires.redis.mode = 'silent'
    // It notices that within its own time.
    await sleep(3_000)
    const after = await device.connect(second)
    await device.known(epoch)
    for (let n = 0; n < orders; n++) await device.order()
    await sleep(Math.max(2 * props.pace.heartbeatMs, 250 * props.seconds))
    wires.redis.mode = 'pass'
    const healed = Date.now()
    const cutMs = await Promise.race([
      before.hand.closed.then(() => Math.max(0, Date.now() - healed)),
      sleep(cutWithinMs, Number.POSITIVE_INFINITY),
    ])
    return [
      none('commands that came down both connections, or the old one alone', before.given),
      none(
        'commands that came down the new one more than once',
        after.given.filter((id, at) => after.given.indexOf(id) < at),
      ),
      within('the old connection is cut once it heals', cutWithinMs, [cutMs]),
    ]
  },
}
