import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../system/harness/until.ts'
import { all, none, within } from '../verdict.ts'
import type { Fault } from './fault.ts'
import { HandDevice } from './hand-device.ts'
import type { Scene } from './scene.ts'

const livesMs = 2_000
/** Promise P4: everything ends within its time and a minute. */
const endsWithinMs = 60_000
const plantedPatienceMs = 6_000

/** A device is away for longer than its command lives. */
export const offlinePastExpiry: Fault = {
  id: 'F21',
  fault: 'device offline past its command’s expiry',
  expected: 'expired within a minute, told so, and not run on return',
  plant: {
    guard: 'the expiry: the database keeps one that is a day later',
    noticed: /carried out/,
  },
  run: async (scene) => {
    const { props } = scene
    const device = await HandDevice.enroll(scene, 'away')
    const before = await device.connect(0)
    const epoch = await device.known()
    before.quiet()
    before.hand.drop()
    await before.hand.closed
    if (scene.planted) await putOff(scene, device.id)
    const expiresAt = new Date(Date.now() + livesMs)
    const id = await device.order({ expiresAt: expiresAt.toISOString() }, { end: 'expired' })
    const patienceMs = scene.planted ? plantedPatienceMs : endsWithinMs
    const endedMs = await until('it ends', () => hasEnded(scene, id), livesMs + patienceMs).then(
      () => Date.now() - expiresAt.getTime(),
      () => Number.POSITIVE_INFINITY,
    )
    const after = await device.connect(0)
    await device.known(epoch)
    await sleep(2 * props.pace.heartbeatMs)
    return [
      within('from its expiry until it ends', endsWithinMs, [endedMs]),
      all('events that tell of it', 1, await toldOf(scene, id)),
      none('commands that were carried out on return', after.given),
    ]
  },
}

const hasEnded = async ({ system: { sql } }: Scene, id: string): Promise<boolean> =>
  (await sql`select from commands where id = ${id} and finished_at is not null`).length > 0

const toldOf = async ({ system: { sql } }: Scene, id: string): Promise<number> =>
  (
    await sql`select from outbox where type = 'command.finished' and payload ->> 'commandId' = ${id} and payload ->> 'status' = 'expired'`
  ).length

async function putOff(scene: Scene, deviceId: string): Promise<void> {
  const { sql } = scene.system
  await sql.unsafe(`
    create function svc.planted_expiry() returns trigger language plpgsql as $$
      begin new.expires_at := now() + interval '1 day'; return new; end $$;
    create trigger planted_expiry before insert on svc.commands for each row
      when (new.device_id = '${deviceId}') execute function svc.planted_expiry()`)
  scene.later(() => sql.unsafe('drop function svc.planted_expiry() cascade'))
}
