import type { Fragment } from 'postgres'
import type { Db } from '../../../../kernel/tenancy.ts'
import type {
  Device,
  DeviceDetail,
  DeviceFilter,
  DeviceGroup,
  DeviceSort,
  DeviceUpdate,
  Position,
  SortDir,
} from './schema.ts'

/** Everything of the device's own row that is shown; the credential columns cannot even be named by the API's role. */
const columns = (db: Db) => db.sql`
  d.id, d.org_id, d.site_id, d.hostname, d.display_name, d.os_type, d.os_name, d.os_version, d.os_build, d.architecture,
  d.agent_version, d.helper_version, d.watchdog_version, d.device_role, d.status, d.tags, d.custom_fields,
  d.auto_update_enabled, d.is_virtual, d.virtualization_platform, d.pending_reboot, d.last_user,
  host(d.last_seen_ip) as last_seen_ip, d.main_agent_silent_since, d.watchdog_status, d.enrolled_at, d.decommissioned_at,
  d.created_at, d.updated_at`

const presence = ({ sql }: Db) =>
  sql`p.last_seen_at, p.cpu_percent, p.ram_percent, p.disk_percent, p.uptime_seconds`

/**
 * What each sort orders by; an index on (partner_id, this, id) serves it. A device that never enrolled or was never seen
 * counts as infinitely long ago.
 */
const sortKey = ({ sql }: Db, sort: DeviceSort): Fragment =>
  ({ hostname: sql`d.hostname_key`, lastSeen: sql`d.last_seen_rank`, enrolled: sql`d.enrolled_rank` })[sort]

const keyType = ({ sql }: Db, sort: DeviceSort) => (sort === 'hostname' ? sql`::text` : sql`::timestamptz`)

/** A single value is compared plainly: only so does an index on (…, org_id, hostname) keep its order. */
const among = ({ sql }: Db, column: Fragment, values: readonly string[], type: Fragment) =>
  values.length === 1
    ? sql`and ${column} = ${values[0] ?? null}`
    : sql`and ${column} = any (${[...values]}::${type}[])`

function inGroups(db: Db, groupIds: readonly string[]) {
  return db.sql`and exists (select from device_group_members m
    where m.device_id = d.id and m.group_id = any (${[...groupIds]}::uuid[]) and ${db.visible('m')})`
}

/** LIKE's own characters are taken literally. */
const contains = (text: string) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`

function restricted(db: Db, filter: DeviceFilter): Fragment {
  const { sql } = db
  const { orgIds, siteIds, groupIds, status, osType, search, includeDecommissioned } = filter
  return sql`${db.visibleDevice('d')}
    ${orgIds ? among(db, sql`d.org_id`, orgIds, sql`uuid`) : sql``}
    ${siteIds ? among(db, sql`d.site_id`, siteIds, sql`uuid`) : sql``}
    ${groupIds ? inGroups(db, groupIds) : sql``}
    ${status ? among(db, sql`d.status`, status, sql`text`) : sql``}
    ${status || includeDecommissioned ? sql`` : sql`and d.lifecycle <> 'decommissioned'`}
    ${osType ? among(db, sql`d.os_type`, osType, sql`text`) : sql``}
    ${search ? sql`and (d.hostname ilike ${contains(search)} or d.display_name ilike ${contains(search)})` : sql``}`
}

/** One page of a sorted list of devices: from after a position, or from an offset in the legacy mode. */
export interface DevicePage {
  filter: DeviceFilter
  sort: DeviceSort
  dir: SortDir
  after?: Position | undefined
  offset?: number
  take: number
}

/** A row of a page and where it stands: `sortKey` is text, which keeps microseconds and infinities. */
export type PlacedDevice = Device & { sortKey: string; place: unknown }

function beyond(db: Db, { sort, dir, after }: DevicePage): Fragment {
  if (!after) return db.sql``
  const than = dir === 'asc' ? db.sql`>` : db.sql`<`
  return db.sql`and (${sortKey(db, sort)}, d.id) ${than} (${after.key}${keyType(db, sort)}, ${after.id}::uuid)`
}

/** The statement behind {@link listDevices}: the page is cut from one index first, then completed row by row. */
export function devicePage(db: Db, page: DevicePage): Fragment {
  const { sql } = db
  const dir = page.dir === 'asc' ? sql`asc` : sql`desc`
  return sql`select d.*, ${presence(db)}, case when h.device_id is not null then jsonb_build_object(
      'cpuModel', h.cpu_model, 'cpuCores', h.cpu_cores, 'ramTotalBytes', h.ram_total_bytes,
      'diskTotalBytes', h.disk_total_bytes) end as hardware
    from (
      select ${columns(db)}, ${sortKey(db, page.sort)} as place, ${sortKey(db, page.sort)}::text as sort_key
      from devices d
      where ${restricted(db, page.filter)} ${beyond(db, page)}
      order by ${sortKey(db, page.sort)} ${dir}, d.id ${dir}
      limit ${page.take} ${page.offset ? sql`offset ${page.offset}` : sql``}
    ) d
    left join device_presence p on p.device_id = d.id and ${db.visible('p')}
    left join device_hardware h on h.device_id = d.id and ${db.visible('h')}
    order by d.place ${dir}, d.id ${dir}`
}

export const listDevices = (db: Db, page: DevicePage) => db.rows<PlacedDevice>`${devicePage(db, page)}`

export const countDevices = async (db: Db, filter: DeviceFilter) => {
  const row = await db.one<{ total: number }>`
    select count(*)::int as total from devices d where ${restricted(db, filter)}`
  return row?.total ?? 0
}

/** What a detail adds to the list row, without what comes from child tables. */
type DeviceRow = Omit<DeviceDetail, 'hardware' | 'disks' | 'groups' | 'update'>

export const findDevice = (db: Db, id: string) => db.one<DeviceRow>`
  select ${columns(db)}, ${presence(db)}, d.boot_id, host(d.enrollment_ip) as enrollment_ip, d.enrollment_key_id,
    o.name as org_name, s.name as site_name, s.timezone as site_timezone
  from devices d
  join organizations o on o.id = d.org_id
  join sites s on s.id = d.site_id
  left join device_presence p on p.device_id = d.id
  where d.id = ${id} and ${db.visibleDevice('d')}`

export const listGroupsOfDevice = (db: Db, deviceId: string) => db.rows<DeviceGroup>`
  select g.id as group_id, g.name as group_name, g.kind as group_type, m.added_at
  from device_group_members m join device_groups g on g.id = m.group_id
  where m.device_id = ${deviceId} and ${db.visible('m')} and ${db.visible('g')}
  order by lower(g.name), g.id`

export const findUpdate = (db: Db, deviceId: string) => db.one<DeviceUpdate>`
  select u.component, u.phase, u.from_version as "from", u.to_version as "to", u.reason,
    greatest(u.offered_at, u.reported_at) as at
  from device_updates u where u.device_id = ${deviceId} and ${db.visible('u')} and greatest(u.offered_at, u.reported_at) is not null
  order by at desc limit 1`

/** What the areas of this wing need to know of a device before they act on it. */
export interface DeviceOwner {
  id: string
  partnerId: string
  orgId: string
  hostname: string
}

export const findOwner = (db: Db, id: string) => db.one<DeviceOwner>`
  select d.id, d.partner_id, d.org_id, d.hostname from devices d
  where d.id = ${id} and ${db.visibleDevice('d')}`

/** Ends the device's credential; answers the version that died. Call with the row locked, in the transaction that says why. */
export const endCredential = (db: Db, id: string) => db.one<{ credentialVersion: number }>`
  update devices d set credential_version = d.credential_version + 1, token_sha256 = null, updated_at = now()
  where d.id = ${id} and ${db.visibleDevice('d')}
  returning d.credential_version - 1 as credential_version`

export interface NewRevocation {
  id: string
  partnerId: string
  orgId: string
  deviceId: string
  credentialVersion: number
  reason: string
}

export const insertRevocation = (db: Db, row: NewRevocation) => db.run`
  insert into revocations (id, partner_id, org_id, device_id, credential_version, reason)
  values (${row.id}, ${row.partnerId}, ${row.orgId}, ${row.deviceId}, ${row.credentialVersion}, ${row.reason})`
