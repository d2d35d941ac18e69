import type { WorkerDb } from '../../kernel/db.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { Pipeline } from '../../pipeline.ts'
import { emitAll, type Event } from '../events/emit.ts'
import { clocks } from './clocks.ts'
import type { Subject } from './events.ts'
import { type Facts, project } from './states.ts'

/**
 * A device that comes and goes is in one state, with a count, instead of being told of each time: `flapAfter` connections within
 * `flapWithinMs` begin it, as long without one end it. Meanwhile its status is what it is; who is told of events hears of the beginning
 * and the end, and then where the device is, if that is not what was told last.
 */
export const flappingBegan = (device: Subject, facts: Facts): Event => ({
  type: 'device.flapping',
  subjectId: device.id,
  partnerId: device.partnerId,
  orgId: device.orgId,
  payload: { deviceId: device.id, status: project(facts) },
})

type Numbers = Pick<Pipeline, 'flapWithinMs' | 'watermarkStaleMs' | 'sweepChunk'>

interface Settled extends Subject, Facts {
  told: Facts['connectivity']
  reconnects: number
}

/** Ends it for devices that have not connected for long enough, by the time of the streams. */
export async function settleDevices(db: WorkerDb, numbers: Numbers): Promise<void> {
  for (;;) if ((await db.tx((tx) => settleChunk(tx, numbers))) < numbers.sweepChunk) return
}

async function settleChunk(db: Db, numbers: Numbers): Promise<number> {
  const settled = await db.rows<Settled>`
    with ${clocks(db, numbers)},
    due as (
      select d.id, d.connectivity_told, p.reconnects from devices d
      join device_presence p on p.device_id = d.id
      join listening s on s.shard = (get_byte(uuid_send(d.id), 15) & 15)
      where d.flapping_since is not null
        and greatest(p.reconnected_at, s.since) + make_interval(secs => ${numbers.flapWithinMs / 1000}::float8) < s.through
      order by d.id limit ${numbers.sweepChunk} for no key update of d skip locked)
    update devices d set flapping_since = null, connectivity_told = null, updated_at = now() from due where d.id = due.id
    returning d.id, d.partner_id, d.org_id, d.lifecycle, d.connectivity, d.activity, d.in_maintenance, due.reconnects,
      due.connectivity_told as told`
  emitAll(db, settled.flatMap(eventsOfEnd))
  return settled.length
}

function eventsOfEnd({ reconnects, told, ...device }: Settled): Event[] {
  const subject = { subjectId: device.id, partnerId: device.partnerId, orgId: device.orgId }
  const status = project(device)
  const settled: Event = {
    type: 'device.settled',
    ...subject,
    payload: { deviceId: device.id, status, reconnects },
  }
  if (told === device.connectivity) return [settled]
  const type = device.connectivity === 'online' ? 'device.online' : 'device.offline'
  return [settled, { type, ...subject, payload: { deviceId: device.id, from: told, to: status } }]
}
