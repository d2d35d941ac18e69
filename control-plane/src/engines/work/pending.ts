import type { Registry } from 'prom-client'
import type { WorkerDb } from '../../kernel/db.ts'
import { askedGauges } from '../../kernel/gauges.ts'
import type { Db } from '../../kernel/tenancy.ts'

/** No more are counted: of a million commands for devices that are away it is enough to know that they are many. */
const most = 100_000
/** Devices that are connected get what is theirs within seconds; who looks further back wades through those that are away. */
const lately = '1 hour'

/** Asks the database at each scrape what commands wait for: NaN where it does not answer. */
export function pendingMetrics(
  registry: Registry,
  db: WorkerDb,
  log: { warn(details: object, message: string): void },
): void {
  askedGauges(registry, {
    gauges: {
      svc_commands_queued: `Commands that no device has acknowledged, ${most} at most.`,
      svc_commands_delivered: `Commands that a device has, and has not begun, ${most} at most.`,
      svc_commands_running: `Commands that a device works on, ${most} at most.`,
      svc_commands_queued_oldest_seconds:
        'How long the oldest queued command has been due, devices that are away included.',
      svc_commands_delivered_oldest_seconds:
        'How long ago a device took the oldest command that it has not begun.',
      svc_commands_running_oldest_seconds: 'How long ago the oldest running command was begun.',
      svc_commands_undelivered_seconds:
        'How long the oldest command of the last hour waits although its device is connected and its lane is free.',
    },
    ask: async () => {
      const found = await pending(db)
      return (
        found && {
          svc_commands_queued: found.queued,
          svc_commands_delivered: found.delivered,
          svc_commands_running: found.running,
          svc_commands_queued_oldest_seconds: found.queuedOldest,
          svc_commands_delivered_oldest_seconds: found.deliveredOldest,
          svc_commands_running_oldest_seconds: found.runningOldest,
          svc_commands_undelivered_seconds: found.undelivered,
        }
      )
    },
    failed: (error) => log.warn({ err: error }, 'commands that wait could not be counted'),
  })
}

interface Pending {
  queued: number
  delivered: number
  running: number
  /** seconds, 0 when there is none */
  queuedOldest: number
  deliveredOldest: number
  runningOldest: number
  undelivered: number
}

/** Of each state its own partial index is read. An epoch is the microsecond of the connection that it belongs to. */
const pending = (db: Db) => db.one<Pending>`
  select
    (select count(*) from (select 1 from commands q where q.status = 'queued' limit ${most}) q)::float8 as queued,
    d.delivered, d.running, d.delivered_oldest, d.running_oldest,
    coalesce(extract(epoch from now() - (select greatest(o.created_at, o.not_before) from commands o
      where o.owed and o.status = 'queued' and greatest(o.created_at, o.not_before, o.cancel_requested_at) <= now()
      order by greatest(o.created_at, o.not_before, o.cancel_requested_at) limit 1)), 0)::float8 as queued_oldest,
    coalesce(extract(epoch from max(u.waits)), 0)::float8 as undelivered
  from (
    select count(*) filter (where p.status = 'delivered')::float8 as delivered,
      count(*) filter (where p.status = 'running')::float8 as running,
      coalesce(extract(epoch from now() - min(p.delivered_at) filter (where p.status = 'delivered')), 0)::float8 as delivered_oldest,
      coalesce(extract(epoch from now() - min(p.started_at) filter (where p.status = 'running')), 0)::float8 as running_oldest
    from (select c.status, c.delivered_at, c.started_at from commands c
      where c.status in ('delivered', 'running') limit ${most}) p) d
  left join lateral (
    select least(now() - greatest(c.created_at, c.not_before), now() - to_timestamp(s.epoch / 1e6), now() - lane.free_at) as waits
    from commands c
    join device_presence s on s.device_id = c.device_id
    join gateway_nodes n on n.node = s.node and n.lease_until > now()
    cross join lateral (
      select max(b.finished_at) as free_at, coalesce(bool_or(b.status in ('delivered', 'running')), false) as busy
      from commands b where b.device_id = c.device_id and b.lane = c.lane and b.seq < c.seq
        and b.created_at > c.created_at - '1 day'::interval) lane
    where c.owed and c.status = 'queued' and c.expires_at > now() and not lane.busy
      and greatest(c.created_at, c.not_before, c.cancel_requested_at) between now() - ${lately}::interval and now()) u on true
  group by d.delivered, d.running, d.delivered_oldest, d.running_oldest`
