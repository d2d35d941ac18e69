import { plainArray, textArray } from '../../db/array-literal.ts'
import type { Db } from '../../kernel/tenancy.ts'
import type { Facts } from '../status/states.ts'
import type { Course } from './course.ts'
import type { Component } from './releases.ts'

/** What decides whether a device is offered a release, and what configuration it is to have. */
export interface Standing {
  id: string
  osType: string
  architecture: string | null
  autoUpdate: boolean
  configVersion: number
}

/** Of devices in service alone. */
export const listStandings = (db: Db, ids: readonly string[]) => db.rows<Standing>`
  select d.id, d.os_type, d.architecture, d.auto_update_enabled as auto_update, p.config_version
  from devices d join device_presence p on p.device_id = d.id
  where d.id = any(${plainArray(ids)}::uuid[]) and d.lifecycle = 'active'`

export interface Offer {
  deviceId: string
  component: Component
  version: string
}

/** After so many failures a version rests for a day. */
const maxFailures = 3

/**
 * Notes offers, and tells which of them may go out: not the same version again within `againMs`, not one that failed too often,
 * and nothing where it was switched off meanwhile. Of two workers that offer the same one gets it.
 */
export const claimOffers = (db: Db, offers: readonly Offer[], againMs: number) => db.rows<
  Omit<Offer, 'version'>
>`
  insert into device_updates as u (device_id, component, partner_id, org_id, offered_version, offered_at, to_version)
  select d.id, b.component, d.partner_id, d.org_id, b.version, now(), b.version
  from unnest(${plainArray(offers.map((offer) => offer.deviceId))}::uuid[],
    ${plainArray(offers.map((offer) => offer.component))}::text[],
    ${textArray(offers.map((offer) => offer.version))}::text[]) as b (id, component, version)
  join devices d on d.id = b.id and d.lifecycle = 'active' and d.auto_update_enabled
  order by d.id, b.component
  on conflict (device_id, component) do update set offered_version = excluded.offered_version, offered_at = now(),
    phase = 'offered', from_version = null, to_version = excluded.offered_version, reason = null
  where (u.offered_version is distinct from excluded.offered_version or u.offered_at is null
      or u.offered_at < now() - make_interval(secs => ${againMs / 1000}::float8))
    and not coalesce(u.failed_version = excluded.offered_version and u.failures >= ${maxFailures}
      and u.failed_since > now() - interval '24 hours', false)
  returning u.device_id, u.component`

/** Undoes the claim of what no gateway heard. */
export const giveBackOffers = (db: Db, offers: readonly Omit<Offer, 'version'>[]) => db.run`
  with unheard as (
    select u.device_id, u.component
    from unnest(${plainArray(offers.map((offer) => offer.deviceId))}::uuid[],
      ${plainArray(offers.map((offer) => offer.component))}::text[]) as b (id, component)
    join device_updates u on u.device_id = b.id and u.component = b.component and u.phase = 'offered'
    order by u.device_id, u.component for update of u)
  update device_updates u set offered_at = null
  from unheard h where u.device_id = h.device_id and u.component = h.component`

/** A device whose update is reported on, its row held. */
export type Reporter = Facts & { id: string; partnerId: string; orgId: string; agentVersion: string | null }

export const lockReporters = (db: Db, ids: readonly string[]) => db.rows<Reporter>`
  select d.id, d.partner_id, d.org_id, d.lifecycle, d.connectivity, d.activity, d.in_maintenance, d.agent_version
  from devices d where d.id = any(${plainArray(ids)}::uuid[]) order by d.id for no key update`

/** How the updates of a device stood until now. */
export type StoredCourse = Course & { deviceId: string; component: Component }

export const listCourses = (db: Db, ids: readonly string[]) => db.rows<StoredCourse>`
  select u.device_id, u.component, u.phase, u.from_version, u.to_version, u.reason, u.said, u.epoch, u.heard_ms, u.said_ms,
    u.failed_version, u.failures, (extract(epoch from u.failed_since) * 1000)::float8 as failed_since_ms
  from device_updates u where u.device_id = any(${plainArray(ids)}::uuid[])`

export const writeCourses = (db: Db, rows: readonly StoredCourse[]) => db.run`
  insert into device_updates as u (device_id, component, partner_id, org_id, phase, from_version, to_version, reason,
    reported_at, said, epoch, heard_ms, said_ms, failed_version, failures, failed_since)
  select d.id, b.component, d.partner_id, d.org_id, b.phase, b.from_version, b.to_version, b.reason, now(), b.said, b.epoch,
    b.heard_ms, b.said_ms, b.failed_version, b.failures, to_timestamp(b.failed_since)
  from unnest(${plainArray(rows.map((r) => r.deviceId))}::uuid[], ${plainArray(rows.map((r) => r.component))}::text[],
    ${plainArray(rows.map((r) => r.phase))}::text[], ${textArray(rows.map((r) => r.fromVersion))}::text[],
    ${textArray(rows.map((r) => r.toVersion))}::text[], ${textArray(rows.map((r) => r.reason))}::text[],
    ${textArray(rows.map((r) => r.said))}::text[], ${plainArray(rows.map((r) => r.epoch))}::bigint[],
    ${plainArray(rows.map((r) => r.heardMs))}::bigint[],
    ${plainArray(rows.map((r) => r.saidMs))}::bigint[], ${textArray(rows.map((r) => r.failedVersion))}::text[],
    ${plainArray(rows.map((r) => r.failures))}::int[],
    ${plainArray(rows.map((r) => (r.failedSinceMs === null ? null : r.failedSinceMs / 1000)))}::float8[])
    as b (id, component, phase, from_version, to_version, reason, said, epoch, heard_ms, said_ms, failed_version, failures, failed_since)
  join devices d on d.id = b.id
  order by d.id, b.component
  on conflict (device_id, component) do update set phase = excluded.phase, from_version = excluded.from_version,
    to_version = excluded.to_version, reason = excluded.reason, reported_at = excluded.reported_at, said = excluded.said,
    epoch = excluded.epoch, heard_ms = excluded.heard_ms, said_ms = excluded.said_ms, failed_version = excluded.failed_version,
    failures = excluded.failures, failed_since = excluded.failed_since`

export const writeActivities = (db: Db, devices: readonly Pick<Reporter, 'id' | 'activity'>[]) => db.run`
  update devices d set activity = b.activity, updated_at = now()
  from unnest(${plainArray(devices.map((device) => device.id))}::uuid[],
    ${plainArray(devices.map((device) => device.activity))}::text[]) as b (id, activity) where d.id = b.id`

/** Devices of which an update has got nowhere for `afterMs`, their rows held; at most `limit`. */
export const lockStalled = (db: Db, afterMs: number, limit: number) => db.rows<
  Reporter & { component: Component; fromVersion: string | null; toVersion: string | null }
>`
  select d.id, d.partner_id, d.org_id, d.lifecycle, d.connectivity, d.activity, d.in_maintenance, d.agent_version,
    u.component, u.from_version, u.to_version
  from device_updates u join devices d on d.id = u.device_id
  where u.phase in ('downloading', 'verifying', 'backing_up', 'swapping', 'restarting')
    and u.reported_at < now() - make_interval(secs => ${afterMs / 1000}::float8)
  order by d.id limit ${limit} for no key update of d, u skip locked`

export const giveUpOn = (
  db: Db,
  stalled: readonly { id: string; component: Component }[],
  reason: string,
) => db.run`
  update device_updates u set phase = 'failed', reason = ${reason}, reported_at = now()
  from unnest(${plainArray(stalled.map((one) => one.id))}::uuid[],
    ${plainArray(stalled.map((one) => one.component))}::text[]) as b (id, component)
  where u.device_id = b.id and u.component = b.component`
