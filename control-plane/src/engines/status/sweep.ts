import { plainArray } from '../../db/array-literal.ts'
import type { WorkerDb } from '../../kernel/db.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { Pipeline } from '../../pipeline.ts'
import { emitAll } from '../events/emit.ts'
import { clocks } from './clocks.ts'
import { eventsOf, type Subject } from './events.ts'
import { type Facts, step } from './states.ts'

type SweepNumbers = Pick<
  Pipeline,
  'goneAfterMs' | 'silentAfterMs' | 'updatingAfterMs' | 'watermarkStaleMs' | 'sweepChunk'
>

/**
 * Takes offline whoever has been silent too long, in transactions of `sweepChunk` devices, and tells so. Returns how many.
 * Time is what the shard's stream has been worked off to, never the wall clock: a stream that stands still takes nobody offline.
 */
export async function sweepDevices(db: WorkerDb, numbers: SweepNumbers): Promise<number> {
  let swept = 0
  for (;;) {
    const count = await db.tx((tx) => sweepChunk(tx, numbers))
    swept += count
    if (count < numbers.sweepChunk) return swept
  }
}

async function sweepChunk(db: Db, numbers: SweepNumbers): Promise<number> {
  const due = await selectSilent(db, numbers)
  if (due.length === 0) return 0
  const moves = due.flatMap((device) => {
    const after = step(device, 'fell_silent')
    return after ? [{ device, after }] : []
  })
  await db.run`
    update devices d set connectivity = b.connectivity, activity = b.activity, updated_at = now(),
      offline_seen_at = case when d.connectivity = 'online'
        then (select p.last_seen_at from device_presence p where p.device_id = d.id) else d.offline_seen_at end
    from unnest(${plainArray(moves.map((m) => m.device.id))}::uuid[],
      ${plainArray(moves.map((m) => m.after.connectivity))}::text[],
      ${plainArray(moves.map((m) => m.after.activity))}::text[]) as b (id, connectivity, activity)
    where d.id = b.id`
  emitAll(
    db,
    moves.flatMap(({ device, after }) => eventsOf(device, 'fell_silent', device, after)),
  )
  return due.length
}

/**
 * Devices that count as online or updating although nothing was heard of them for too long:
 * - on a live node: silent there for `silentAfterMs` of that node's and shard's processed time
 * - on no live node: silent for `goneAfterMs` on every node where it could have come back
 * Silence counts from `since` at the earliest, when the present unbroken run of listening began. Presence rows are locked too: a
 * heartbeat being written wins, and one that waits for this finds the device offline.
 */
function selectSilent(db: Db, numbers: SweepNumbers): Promise<(Subject & Facts)[]> {
  const ms = (value: number) => db.sql`make_interval(secs => ${value / 1000}::float8)`
  const patience = (limit: number) =>
    db.sql`case when d.activity = 'updating' then greatest(${ms(limit)}, ${ms(numbers.updatingAfterMs)}) else ${ms(limit)} end`
  return db.rows<Subject & Facts>`
    with ${clocks(db, numbers)}
    select d.id, d.partner_id, d.org_id, d.lifecycle, d.connectivity, d.activity, d.in_maintenance,
      d.flapping_since is not null as flaps
    from devices d
    join device_presence p on p.device_id = d.id
    left join live l on l.node = p.node
    left join mark m on m.node = l.node and m.shard = (get_byte(uuid_send(d.id), 15) & 15)
    left join listening s on l.node is null and s.shard = (get_byte(uuid_send(d.id), 15) & 15)
    where (d.connectivity = 'online' or d.activity = 'updating') and case when l.node is not null
      then greatest(p.last_seen_at, m.since) + ${patience(numbers.silentAfterMs)} < m.through
      else greatest(p.last_seen_at, s.since) + ${patience(numbers.goneAfterMs)} < s.through end
    order by d.id limit ${numbers.sweepChunk}
    for no key update of d, p skip locked`
}
