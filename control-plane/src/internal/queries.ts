import type { Db } from '../kernel/tenancy.ts'

/** A gateway that has not renewed for this long holds no device; it renews every 2 s. */
const nodeLeaseSeconds = 15
/** Revocations older than this are nobody's business: a gateway remembers a profile for 24 h. */
const keptHours = 48
/** A revocation carries the time its transaction began: one that commits later than this is long must not be missed. */
const overlapSeconds = 60

export interface NodeReport {
  node: string
  version: string
  connections: number
}

/** Renews the node's lease and answers the database's time in ms since 1970; a node that had lapsed counts as newly started. */
export const renewNode = async (db: Db, { node, version, connections }: NodeReport): Promise<number> => {
  const row = await db.one<{ now: number }>`
    insert into gateway_nodes as n (node, version, connections, lease_until)
    values (${node}, ${version}, ${connections}, now() + ${nodeLeaseSeconds} * interval '1 second')
    on conflict (node) do update set version = excluded.version, connections = excluded.connections,
      lease_until = excluded.lease_until, started_at = case when n.lease_until < now() then now() else n.started_at end
    returning floor(extract(epoch from now()) * 1000)::bigint as now`
  if (!row) throw new Error('renewing a lease answered no row')
  return row.now
}

export interface ProfileRow {
  id: string
  partnerId: string
  orgId: string
  lifecycle: 'pending' | 'active' | 'quarantined' | 'decommissioned'
  tokenSha256: Buffer | null
  credentialVersion: number
  epoch: number | null
  /** neither its organization nor its partner is suspended or given up */
  admitted: boolean
}

export const listProfiles = (db: Db, deviceIds: readonly string[]) => db.rows<ProfileRow>`
  select d.id, d.partner_id, d.org_id, d.lifecycle, d.token_sha256, d.credential_version, p.epoch,
    o.deleted_at is null and o.status in ('active', 'trial') and partner.status in ('pending', 'active') as admitted
  from devices d
    join organizations o on o.partner_id = d.partner_id and o.id = d.org_id
    join partners partner on partner.id = d.partner_id
    left join device_presence p on p.device_id = d.id
  where d.id = any (${[...deviceIds]}::uuid[]) and ${db.visible('d')}`

export interface RevocationRow {
  deviceId: string
  credentialVersion: number
  reason: string
}

/** `sinceMs` is the database's time of an earlier read; 0: everything that is kept. */
export const listRevocations = (db: Db, sinceMs: number) => db.rows<RevocationRow>`
  select r.device_id, r.credential_version, r.reason from revocations r
  where ${db.visible('r')} and r.at >= now() - ${keptHours} * interval '1 hour'
    and r.at >= 'epoch'::timestamptz + (${sinceMs}::double precision / 1000 - ${overlapSeconds}) * interval '1 second'
  order by r.at`
