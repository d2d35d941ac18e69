import { takesPart } from '../engines/status/takes-part.ts'
import type { Db } from '../kernel/tenancy.ts'

/** Revocations older than this are nobody's business: a gateway remembers a profile for 24 h. */
const keptHours = 48
/** A revocation carries the time its transaction began. Gateways that name no transaction miss those that commit later than this. */
const overlapSeconds = 60

export interface NodeReport {
  node: string
  version: string
  connections: number
}

/** A moment of the database: ms since 1970, and the oldest transaction that is not over. */
export interface Moment {
  now: number
  xact: number
}

/** Renews the node's lease and answers the database's moment; a node that had lapsed counts as newly started. */
export const renewNode = async (
  db: Db,
  { node, version, connections }: NodeReport,
  leaseMs: number,
): Promise<Moment> => {
  const row = await db.one<Moment>`
    insert into gateway_nodes as n (node, version, connections, lease_until)
    values (${node}, ${version}, ${connections}, now() + ${leaseMs} * interval '1 ms')
    on conflict (node) do update set version = excluded.version, connections = excluded.connections,
      lease_until = excluded.lease_until, started_at = case when n.lease_until < now() then now() else n.started_at end
    returning floor(extract(epoch from now()) * 1000)::bigint as now,
      pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xact`
  if (!row) throw new Error('renewing a lease answered no row')
  return row
}

export interface ProfileRow {
  id: string
  partnerId: string
  orgId: string
  lifecycle: 'pending' | 'active' | 'quarantined' | 'decommissioned'
  tokenSha256: Buffer | null
  tokenIssuedMs: number | null
  publicKey: Buffer | null
  credentialVersion: number
  epoch: number | null
  /** neither its organization nor its partner is suspended or given up */
  admitted: boolean
}

export const listProfiles = (db: Db, deviceIds: readonly string[]) => db.rows<ProfileRow>`
  select d.id, d.partner_id, d.org_id, d.lifecycle, d.token_sha256, d.credential_version, d.public_key,
    floor(extract(epoch from d.token_issued_at) * 1000)::bigint as token_issued_ms, p.epoch,
    ${takesPart(db, { organization: 'o', partner: 'partner' })} as admitted
  from devices d
    join organizations o on o.partner_id = d.partner_id and o.id = d.org_id
    join partners partner on partner.id = d.partner_id
    left join device_presence p on p.device_id = d.id
  where d.id = any (${[...deviceIds]}::uuid[]) and ${db.visible('d')}`

export interface RevocationRow {
  deviceId: string
  credentialVersion: number
  reason: string
  atMs: number
}

/** @param since the moment before an earlier read. `now` 0: everything that is kept; `xact` 0: not known */
export const listRevocations = (db: Db, { now, xact }: Moment) => db.rows<RevocationRow>`
  select r.device_id, r.credential_version, r.reason, floor(extract(epoch from r.at) * 1000)::bigint as at_ms
  from revocations r
  where ${db.visible('r')} and r.at >= now() - ${keptHours} * interval '1 hour'
    and (r.at >= 'epoch'::timestamptz + (${now}::double precision / 1000 - ${overlapSeconds}) * interval '1 second'
      ${xact > 0 ? db.sql`or r.xact >= ${String(xact)}::text::xid8` : db.sql``})
  order by r.at`
