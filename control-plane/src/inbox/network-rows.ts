import type { svc } from '@svc/proto'
import type { Db } from '../kernel/tenancy.ts'
import { number, owner, type Row, text } from './inventory-values.ts'

/** Most that is kept of one device. */
const [maxInterfaces, maxAddresses, maxServers] = [256, 64, 16]
const states = new Set(['up', 'down'])

const texts = (values: readonly string[] | null | undefined, most: number) =>
  (values ?? []).slice(0, most).flatMap((value) => text(value, 64) ?? [])

/** Gateway and name servers of each device; one row. */
async function writeSummaries(db: Db, rows: readonly Row[]): Promise<void> {
  const records = rows.map((row) => ({
    ...owner(row),
    default_gateway: text(row.payload.network?.defaultGateway, 64),
    dns_servers: texts(row.payload.network?.dnsServers, maxServers),
  }))
  await db.run`
    insert into device_networks (device_id, partner_id, org_id, collected_at, default_gateway, dns_servers)
    select device_id, partner_id, org_id, collected_at, default_gateway, dns_servers
    from jsonb_to_recordset(${JSON.stringify(records)}::text::jsonb) as s (device_id uuid, partner_id uuid, org_id uuid,
      collected_at timestamptz, default_gateway text, dns_servers text[])
    on conflict (device_id) do update set collected_at = excluded.collected_at,
      default_gateway = excluded.default_gateway, dns_servers = excluded.dns_servers`
}

function interfacesOf(row: Row) {
  const byName = new Map(
    (row.payload.network?.interfaces ?? []).slice(0, maxInterfaces).flatMap((one) => {
      const name = text(one.name)
      return name === null ? [] : [[name, interfaceOf(name, one)] as const]
    }),
  )
  return [...byName.values()]
}

const interfaceOf = (name: string, said: svc.v1.INetworkInterface) => ({
  name,
  mac_address: text(said.macAddress, 32),
  addresses: texts(said.addresses, maxAddresses),
  state: states.has(said.state ?? '') ? said.state : 'unknown',
  mtu: number(said.mtu),
  speed_mbps: number(said.speedMbps),
  is_primary: said.isPrimary ?? false,
})

/** Makes each device's interfaces those that were said; what is the same is left alone. Of two with one name the later counts. */
export async function writeNetworks(db: Db, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  await writeSummaries(db, rows)
  const records = rows.flatMap((row) => interfacesOf(row).map((one) => ({ ...owner(row), ...one })))
  await db.run`
    with said as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(records)}::text::jsonb) as s (device_id uuid, partner_id uuid,
        org_id uuid, name text, mac_address text, addresses text[], state text, mtu int, speed_mbps bigint,
        is_primary boolean)),
    gone as (
      delete from device_network_interfaces d where d.device_id in (select jsonb_array_elements_text(
          ${JSON.stringify(rows.map((row) => row.deviceId))}::text::jsonb)::uuid)
        and not exists (select from said s where s.device_id = d.device_id and s.name = d.name))
    insert into device_network_interfaces as i (device_id, partner_id, org_id, name, mac_address, addresses, state, mtu,
      speed_mbps, is_primary)
    select device_id, partner_id, org_id, name, mac_address, addresses, state, mtu, speed_mbps, is_primary from said s
    where not exists (select from device_network_interfaces k where k.device_id = s.device_id and k.name = s.name
      and (k.mac_address, k.addresses, k.state, k.mtu, k.speed_mbps, k.is_primary)
        is not distinct from (s.mac_address, s.addresses, s.state, s.mtu, s.speed_mbps, s.is_primary))
    on conflict (device_id, name) do update set mac_address = excluded.mac_address, addresses = excluded.addresses,
      state = excluded.state, mtu = excluded.mtu, speed_mbps = excluded.speed_mbps, is_primary = excluded.is_primary`
}
