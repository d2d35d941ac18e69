import type { Db } from '../../../../kernel/tenancy.ts'
import type { Disk, Hardware, Network, NetworkInterface, SoftwarePackage } from './schema.ts'

export const findHardware = (db: Db, deviceId: string) => db.one<Hardware>`
  select h.cpu_model, h.cpu_cores, h.cpu_threads, h.ram_total_bytes, h.disk_total_bytes, h.serial_number, h.manufacturer,
    h.model, h.bios_version, h.gpu_model, h.collected_at
  from device_hardware h where h.device_id = ${deviceId} and ${db.visibleDevice('h', 'device_id')}`

export const listDisks = (db: Db, deviceId: string) => db.rows<Disk>`
  select k.mount_point, k.device, k.fs_type, k.total_bytes, k.used_bytes, k.free_bytes, k.collected_at
  from device_disks k where k.device_id = ${deviceId} and ${db.visibleDevice('k', 'device_id')}
  order by k.mount_point`

export const findNetwork = (db: Db, deviceId: string) => db.one<Omit<Network, 'interfaces'>>`
  select n.default_gateway, n.dns_servers, n.collected_at
  from device_networks n where n.device_id = ${deviceId} and ${db.visibleDevice('n', 'device_id')}`

export const listInterfaces = (db: Db, deviceId: string) => db.rows<NetworkInterface>`
  select i.name, i.mac_address, i.addresses, i.state, i.mtu, i.speed_mbps, i.is_primary
  from device_network_interfaces i where i.device_id = ${deviceId} and ${db.visibleDevice('i', 'device_id')}
  order by i.name collate "C"`

/** Where a page of software ends: what tells one package of a device from another. */
export type SoftwarePlace = readonly [name: string, source: string, architecture: string, instance: number]

export interface SoftwarePage {
  deviceId: string
  search: string | undefined
  after: SoftwarePlace | undefined
  take: number
}

/** LIKE's own characters are taken literally. */
const contains = (text: string) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`

/** By name whatever its case. A device has some hundreds of packages: they are sorted as they are read. */
export function listSoftware(db: Db, { deviceId, search, after, take }: SoftwarePage) {
  const { sql } = db
  const place = sql`(lower(s.name) collate "C", s.name, s.source, s.architecture, s.instance)`
  const beyond = ([name, source, architecture, instance]: SoftwarePlace) => sql`and ${place} > (
    lower(${name}) collate "C", ${name}, ${source}, ${architecture}, ${instance}::smallint)`
  return db.rows<SoftwarePackage & { place: SoftwarePlace }>`
    select md5(concat_ws(chr(31), s.device_id, s.name, s.source, s.architecture, s.instance))::uuid as id, s.name,
      s.version, s.vendor, nullif(s.architecture, '') as architecture, nullif(s.source, '') as source, s.installed_at,
      s.reported_at, jsonb_build_array(s.name, s.source, s.architecture, s.instance) as place
    from device_software s
    where s.device_id = ${deviceId} and ${db.visibleDevice('s', 'device_id')}
      ${search === undefined ? sql`` : sql`and (s.name ilike ${contains(search)} or s.vendor ilike ${contains(search)})`}
      ${after ? beyond(after) : sql``}
    order by lower(s.name) collate "C", s.name, s.source, s.architecture, s.instance
    limit ${db.atMost(take)}`
}
