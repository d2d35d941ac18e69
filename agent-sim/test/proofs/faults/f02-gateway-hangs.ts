import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../system/harness/until.ts'
import { all, none, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice, reportsOf, say } from './hand-device.ts'
import type { Scene } from './scene.ts'
import { otherThan } from './states.ts'

const [hung, other] = [0, 1]
/** What it does first when it goes on, until the workers have seen it. */
const lateWordsMs = 3_000
const cutWithinMs = 10_000
/** Of a gateway, as the control plane gives it. What is shorter than that is played without the long one. */
const leaseSeconds = 15

/** A gateway stands still and goes on, twice: for a moment, in which a device leaves it, and for so long that all do. */
export const gatewayHangs: Fault = {
  id: 'F2',
  fault: 'gateway hangs',
  expected: 'gone after its lease; no ack of an outdated epoch is taken; no effect twice',
  plant: {
    guard: 'the epoch by which an outdated connection is known: the database keeps none above it',
    noticed: /outdated connection/,
  },
  run: async (scene) => {
    const moved = await outdatedWords(scene)
    return scene.planted || scene.props.seconds < leaseSeconds
      ? moved
      : [...moved, ...(await longHang(scene))]
  },
}

/** A device acknowledges a command to the gateway that hangs, and is somewhere else when that is heard. */
async function outdatedWords(scene: Scene) {
  const { system, props } = scene
  const device = await HandDevice.enroll(scene, 'between-two')
  device.conduct = 'ignores'
  const before = await device.connect(hung)
  const epoch = await device.known()
  const id = await device.order()
  await until('it is given the command', () => before.given.includes(id))
  before.quiet()
  system.gateway(hung).signal('SIGSTOP')
  // Whatever it is told lies in its socket until it goes on.
  const [ack, progress] = reportsOf(id)
  for (const body of [ack, progress]) if (body) void say(before.hand, body)
  const after = await device.connect(other)
  await device.known(epoch)
  if (scene.planted) await forgetEpochs(scene, device.id)
  await until('it is given the command again', () => after.given.includes(id))
  await sleep(props.pace.heartbeatMs / 2)
  const went = Date.now()
  system.gateway(hung).signal('SIGCONT')
  const cut = before.hand.closed.then(() => Date.now() - went)
  await sleep(lateWordsMs)
  const moved = await otherThan(scene, 'queued', [id])
  device.conduct = 'carries-out'
  if (!scene.planted)
    await until('the command ends', async () => (await otherThan(scene, 'succeeded', [id])).length === 0)
  return [
    none('commands that an ack of an outdated connection has moved', moved),
    within('the outdated connection is cut', cutWithinMs, [
      await Promise.race([cut, sleep(cutWithinMs, Number.POSITIVE_INFINITY)]),
    ]),
  ]
}

async function longHang(scene: Scene) {
  const { system, props } = scene
  const node = system.nodeOf(hung)
  const lastsMs = Math.max(0.75 * props.seconds, leaseSeconds + 1) * 1000
  system.gateway(hung).signal('SIGSTOP')
  await sleep(lastsMs)
  const gone = await system.sql`select from gateway_nodes where node = ${node} and lease_until < now()`
  system.gateway(hung).signal('SIGCONT')
  return [all(`gateways that count as gone after ${lastsMs / 1000} s`, 1, gone.length)]
}

/** Whatever is written of this device's epoch, none is kept. */
async function forgetEpochs(scene: Scene, deviceId: string): Promise<void> {
  const { sql } = scene.system
  await sql.unsafe(`
    create function svc.planted_forget() returns trigger language plpgsql as $$ begin new.epoch := 0; return new; end $$;
    create trigger planted_forget before update on svc.device_presence for each row
      when (new.device_id = '${deviceId}') execute function svc.planted_forget();
    update svc.device_presence set epoch = 0 where device_id = '${deviceId}'`)
  scene.later(() => sql.unsafe('drop function svc.planted_forget() cascade'))
}
