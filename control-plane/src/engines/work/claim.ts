import { type CommandTypeName, lanes } from '@svc/proto'
import { plainArray, textArray } from '../../db/array-literal.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { takesPart } from '../status/takes-part.ts'
import { stillAsked } from './ask-again.ts'

/** Something to say to a device, and where it is: the command itself, or (`cancel`) that it is to stop it. */
export interface Claimed {
  id: string
  cancel: boolean
  seq: number
  deviceId: string
  orgId: string
  type: CommandTypeName
  lane: string
  args: unknown
  issuedBy: string
  notBefore: Date
  expiresAt: Date
  timeoutMs: number
  attempt: number
  node: string
  epoch: number
  /** see {@link Trailed} */
  traceparent: string | null
  requestId: string | null
}

/** Of these devices, those that something is owed to: one look at a partial index, which a fleet at rest finds empty. */
export async function findOwed(db: Db, deviceIds: readonly string[]): Promise<string[]> {
  if (deviceIds.length === 0) return []
  const rows = await db.rows<{ deviceId: string }>`
    select distinct c.device_id from commands c where c.owed and c.device_id = any(${plainArray(deviceIds)}::uuid[])`
  return rows.map((row) => row.deviceId)
}

/**
 * Devices that this node holds and that something has come to be owed to within `withinMs`, latest first, at most `limit`. What is
 * older is offered with their heartbeats: a long queue of devices that are away costs nothing here.
 */
export async function findOwedOn(db: Db, node: string, withinMs: number, limit: number): Promise<string[]> {
  const since = db.sql`greatest(c.created_at, c.not_before, c.cancel_requested_at)`
  const rows = await db.rows<{ deviceId: string }>`
    select c.device_id from commands c join device_presence p on p.device_id = c.device_id and p.node = ${node}
    where c.owed and ${since} between now() - make_interval(secs => ${withinMs / 1000}::float8) and now()
      and (c.lease_until is null or c.lease_until < now() or c.offered_epoch < p.epoch)
    order by ${since} desc limit ${limit}`
  return [...new Set(rows.map((row) => row.deviceId))]
}

/**
 * Devices that something has come to be owed to within `withinMs` and that nobody has been offered, latest first, at most `limit`.
 */
export async function findOwedLately(db: Db, withinMs: number, limit: number): Promise<string[]> {
  const since = db.sql`greatest(c.created_at, c.not_before, c.cancel_requested_at)`
  const rows = await db.rows<{ deviceId: string }>`
    select c.device_id from commands c
    where c.owed and ${since} between now() - make_interval(secs => ${withinMs / 1000}::float8) and now()
      and (c.lease_until is null or c.lease_until < now())
    order by ${since} desc limit ${limit}`
  return [...new Set(rows.map((row) => row.deviceId))]
}

/**
 * A node may not have heard what its devices were offered: what nobody has acknowledged is as if it had not been. Passes over what is
 * being reported on. Returns how many that are.
 */
export const forgetOffers = (db: Db, node: string): Promise<number> => db.run`
  update commands c set lease_until = null
  where c.id in (select q.id from commands q join device_presence p on p.device_id = q.device_id and p.node = ${node}
    where q.owed and q.lease_until > now() order by q.id for update of q skip locked)`

/** Undoes the claim of what was not handed to anybody. */
export async function giveBack(db: Db, claimed: readonly Claimed[]): Promise<void> {
  await db.run`
    with unheard as (
      select c.id, b.cancel
      from unnest(${plainArray(claimed.map((one) => one.id))}::uuid[], ${plainArray(claimed.map((one) => one.epoch))}::bigint[],
        ${plainArray(claimed.map((one) => one.cancel))}::boolean[]) as b (id, epoch, cancel)
      join commands c on c.id = b.id and c.offered_epoch = b.epoch and c.status in ('queued', 'delivered', 'running')
      order by c.id for update of c)
    update commands c set lease_until = null, attempt = greatest(c.attempt - case when u.cancel then 0 else 1 end, 0)
    from unheard u where c.id = u.id`
}

/**
 * Claims what can be offered now, for `leaseMs`: oldest first, as many per device and lane as the lane has room for, only on live
 * connections, nothing twice while its lease lasts on the connection that it was offered on. A tenant that is suspended gets
 * nothing from that moment on, though its connections may last seconds longer. A lane that is full holds up no other. The device rows are locked first: two claims for one device come one after the other, so the bounds hold. Both statements
 * travel together; the second one's snapshot is taken when the locks are held.
 */
export function claim(db: Db, deviceIds: readonly string[], leaseMs: number): Promise<Claimed[]> {
  db.later`
    select d.id from devices d where d.id = any(${plainArray(deviceIds)}::uuid[]) and d.lifecycle = 'active'
    order by d.id for no key update`
  return claimFor(db, deviceIds, leaseMs)
}

const claimFor = (
  db: Db,
  deviceIds: readonly string[],
  leaseMs: number,
): Promise<Claimed[]> => db.rows<Claimed>`
  with pending as (
    select c.id, c.device_id, c.lane, c.seq, c.status, p.node, p.epoch, c.cancel_requested_at is not null as cancel,
      coalesce(c.lease_until > now() and c.offered_epoch >= p.epoch, false) as offered,
      c.not_before <= now() and (c.expires_at > now() or ${stillAsked(db, 'c')}) as due
    from device_presence p
    join devices d on d.id = p.device_id and d.lifecycle = 'active'
    join organizations o on o.partner_id = d.partner_id and o.id = d.org_id
    join partners t on t.id = d.partner_id and ${takesPart(db, { organization: 'o', partner: 't' })}
    join gateway_nodes g on g.node = p.node and g.lease_until > now()
    join commands c on c.device_id = p.device_id and c.status in ('queued', 'delivered', 'running')
    where p.device_id = any(${plainArray(deviceIds)}::uuid[])),
  ranked as (
    select *, count(*) filter (where status <> 'queued' or offered) over lane as busy,
      row_number() over (partition by device_id, lane, status = 'queued' and not offered and due order by seq) as place
    from pending window lane as (partition by device_id, lane)),
  next as (
    select r.* from ranked r
    join unnest(${textArray(Object.keys(lanes))}::text[], ${plainArray(Object.values(lanes))}::int[]) as l (lane, size)
      on l.lane = r.lane
    where not r.offered and case when r.status = 'queued' then r.due and r.busy + r.place <= l.size else r.cancel end),
  held as (select c.id from commands c join next n on n.id = c.id and n.status = c.status order by c.id for update of c)
  update commands c set lease_until = now() + make_interval(secs => ${leaseMs / 1000}::float8), offered_epoch = n.epoch,
    attempt = c.attempt + case when n.status = 'queued' then 1 else 0 end
  from next n join held h on h.id = n.id where c.id = n.id
  returning c.id, n.status <> 'queued' as cancel, c.seq, c.device_id, c.org_id, c.type, c.lane, c.args, c.issued_by,
    c.not_before, c.expires_at, c.timeout_ms, c.attempt, n.node, n.epoch, c.traceparent, c.request_id`
