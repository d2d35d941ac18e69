import { plainArray, textArray } from '../../db/array-literal.ts'
import type { WorkerDb } from '../../kernel/db.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { Pipeline } from '../../pipeline.ts'
import { emitAll } from '../events/emit.ts'
import { clocks } from './clocks.ts'
import type { Subject } from './events.ts'

/** A watchdog was heard: on its agent's connection, or on one of its own while the agent is away. `heardMs`: the server's time. */
export interface Watched {
  deviceId: string
  epoch: number
  heardMs: number
  version: string | undefined
}

interface Changed extends Subject {
  hostname: string
  watchdogStatus: string
  lastSeenAt: Date | null
  silentSeconds: number
  /** silent now, and not before */
  fellSilent: boolean
}

/**
 * When watchdogs were heard. What is said on a connection that is over counts for nothing. Must run after the presence of the same
 * batch was written, and before device rows are locked. Returns those whose word counted.
 */
export async function hearWatchdogs(db: Db, watched: readonly Watched[]): Promise<Watched[]> {
  if (watched.length === 0) return []
  const known = await db.rows<{ deviceId: string }>`
    update device_presence p set watchdog_seen_at = greatest(p.watchdog_seen_at, least(to_timestamp(b.at), now()))
    from unnest(${plainArray(watched.map((one) => one.deviceId))}::uuid[], ${plainArray(watched.map((one) => one.epoch))}::bigint[],
      ${plainArray(watched.map((one) => one.heardMs / 1000))}::float8[]) as b (id, epoch, at)
    where p.device_id = b.id and p.epoch <= b.epoch
    returning p.device_id`
  const ids = new Set(known.map(({ deviceId }) => deviceId))
  return watched.filter(({ deviceId }) => ids.has(deviceId))
}

/**
 * What watchdogs that were heard say of their devices: that they are there, and, where the agent has been silent for
 * `mainAgentSilentAfterMs`, that it is the agent and not the machine.
 */
export async function applyWatchdogs(
  db: Db,
  heard: readonly Watched[],
  { mainAgentSilentAfterMs }: Pick<Pipeline, 'mainAgentSilentAfterMs'>,
): Promise<void> {
  if (heard.length > 0) tell(db, await changeDevices(db, heard, mainAgentSilentAfterMs))
}

/** Writes only rows in which something changes. */
function changeDevices(db: Db, heard: readonly Watched[], silentAfterMs: number): Promise<Changed[]> {
  return db.rows<Changed>`
    with said as (
      select d.id, d.main_agent_silent_since is null as was_heard, p.last_seen_at, b.version,
        case when p.node is null then 'failover' else 'connected' end as status,
        extract(epoch from p.watchdog_seen_at - p.last_seen_at) as silent
      from unnest(${plainArray(heard.map((one) => one.deviceId))}::uuid[], ${textArray(heard.map((one) => one.version))}::text[])
        as b (id, version)
      join device_presence p on p.device_id = b.id
      join devices d on d.id = b.id
      where d.lifecycle <> 'decommissioned'
      order by d.id for no key update of d)
    update devices d set watchdog_status = s.status, watchdog_version = coalesce(s.version, d.watchdog_version),
      main_agent_silent_since = case when s.silent > ${silentAfterMs / 1000}::float8 then s.last_seen_at
        else d.main_agent_silent_since end,
      updated_at = now()
    from said s
    where d.id = s.id and (d.watchdog_status is distinct from s.status
      or d.watchdog_version is distinct from coalesce(s.version, d.watchdog_version)
      or (s.was_heard and s.silent > ${silentAfterMs / 1000}::float8))
    returning d.id, d.partner_id, d.org_id, d.hostname, d.watchdog_status, s.last_seen_at, s.silent::float8 as silent_seconds,
      s.was_heard and d.main_agent_silent_since is not null as fell_silent`
}

function tell(db: Db, changed: readonly Changed[]): void {
  emitAll(
    db,
    changed
      .filter(({ fellSilent }) => fellSilent)
      .map(({ id, partnerId, orgId, hostname, watchdogStatus, lastSeenAt, silentSeconds }) => ({
        type: 'device.main_agent_silent',
        subjectId: id,
        partnerId,
        orgId,
        payload: {
          deviceId: id,
          hostname,
          mainAgentLastSeenAt: lastSeenAt,
          watchdogStatus,
          silenceDurationSeconds: Math.floor(silentSeconds),
        },
      })),
  )
}

type SweepNumbers = Pick<Pipeline, 'watchdogSilentAfterMs' | 'watermarkStaleMs' | 'sweepChunk'>

/** Watchdogs that were heard once and have been silent too long are offline. By the time of the streams, as devices are. */
export async function sweepWatchdogs(db: WorkerDb, numbers: SweepNumbers): Promise<void> {
  for (;;) {
    const count = await db.tx(async (tx) => {
      const rows = await tx.rows<{ id: string }>`
        with ${clocks(tx, numbers)},
        due as (
          select d.id from devices d
          join device_presence p on p.device_id = d.id
          join listening s on s.shard = (get_byte(uuid_send(d.id), 15) & 15)
          where d.watchdog_status in ('connected', 'failover')
            and greatest(p.watchdog_seen_at, s.since) + make_interval(secs => ${numbers.watchdogSilentAfterMs / 1000}::float8) < s.through
          order by d.id limit ${numbers.sweepChunk} for no key update of d skip locked)
        update devices d set watchdog_status = 'offline', updated_at = now() from due where d.id = due.id returning d.id`
      return rows.length
    })
    if (count < numbers.sweepChunk) return
  }
}
