import type { Fragment } from 'postgres'
import type { Columns, JsonSelect } from '../../../../kernel/rows-as-json.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import type { Disk, Hardware } from '../inventory/schema.ts'
import {
  type Device,
  type DeviceDetail,
  type DeviceFilter,
  type DeviceGroup,
  type DeviceSort,
  type DeviceUpdate,
  type Position,
  type SortDir,
  devicesAsJson,
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
    where m.device_id = d.id and m.group_id = any (${[...groupIds]}::uuid[]) and ${db.visibleGroup('m', 'group_id')})`
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
  limit: number
}

function beyond(db: Db, { sort, dir, after }: DevicePage): Fragment {
  if (!after) return db.sql``
  const than = dir === 'asc' ? db.sql`>` : db.sql`<`
  return db.sql`and (${sortKey(db, sort)}, d.id) ${than} (${after.key}${keyType(db, sort)}, ${after.id}::uuid)`
}

/** Of each field of a list where it comes from. */
const shown = ({ sql }: Db): Columns<Device> => ({
  id: sql`d.id`,
  orgId: sql`d.org_id`,
  siteId: sql`d.site_id`,
  hostname: sql`d.hostname`,
  displayName: sql`d.display_name`,
  osType: sql`d.os_type`,
  osName: sql`d.os_name`,
  osVersion: sql`d.os_version`,
  osBuild: sql`d.os_build`,
  architecture: sql`d.architecture`,
  agentVersion: sql`d.agent_version`,
  helperVersion: sql`d.helper_version`,
  watchdogVersion: sql`d.watchdog_version`,
  deviceRole: sql`d.device_role`,
  status: sql`d.status`,
  tags: sql`d.tags`,
  customFields: sql`d.custom_fields`,
  autoUpdateEnabled: sql`d.auto_update_enabled`,
  isVirtual: sql`d.is_virtual`,
  virtualizationPlatform: sql`d.virtualization_platform`,
  pendingReboot: sql`d.pending_reboot`,
  lastUser: sql`d.last_user`,
  lastSeenAt: sql`p.last_seen_at`,
  lastSeenIp: sql`d.last_seen_ip`,
  mainAgentSilentSince: sql`d.main_agent_silent_since`,
  watchdogStatus: sql`d.watchdog_status`,
  cpuPercent: sql`p.cpu_percent`,
  ramPercent: sql`p.ram_percent`,
  diskPercent: sql`p.disk_percent`,
  uptimeSeconds: sql`p.uptime_seconds`,
  hardware: {
    when: sql`h.device_id is not null`,
    columns: {
      cpuModel: sql`h.cpu_model`,
      cpuCores: sql`h.cpu_cores`,
      ramTotalBytes: sql`h.ram_total_bytes`,
      diskTotalBytes: sql`h.disk_total_bytes`,
    },
  },
  enrolledAt: sql`d.enrolled_at`,
  decommissionedAt: sql`d.decommissioned_at`,
  createdAt: sql`d.created_at`,
  updatedAt: sql`d.updated_at`,
})

/**
 * The statement behind {@link listDevices}: the page, and the device behind it, are cut from one index first, then completed row by row.
 */
export function devicePage(db: Db, page: DevicePage): JsonSelect<Device> {
  const { sql } = db
  const dir = page.dir === 'asc' ? sql`asc` : sql`desc`
  const from = sql`
    from (
      select ${columns(db)}, ${sortKey(db, page.sort)} as place
      from devices d
      where ${restricted(db, page.filter)} ${beyond(db, page)}
      order by ${sortKey(db, page.sort)} ${dir}, d.id ${dir}
      limit ${db.atMost(page.limit + 1)} ${page.offset ? sql`offset ${page.offset}` : sql``}
    ) d
    left join device_presence p on p.device_id = d.id and ${db.visible('p')}
    left join device_hardware h on h.device_id = d.id and ${db.visible('h')}
    order by d.place ${dir}, d.id ${dir}`
  return devicesAsJson(db, shown(db), { place: sql`d.place`, id: sql`d.id`, from })
}

export const listDevices = (db: Db, page: DevicePage) => devicePage(db, page).page(db, page.limit)

export const countDevices = async (db: Db, filter: DeviceFilter) => {
  const row = await db.one<{ total: number }>`
    select count(*)::int as total from devices d where ${restricted(db, filter)}`
  return row?.total ?? 0
}

/** A device's children as JSON: their times are text. */
type InJson<T> = {
  [K in keyof T]: T[K] extends Date ? string : T[K] extends Date | null ? string | null : T[K]
}

/** A whole device in one row, its children in columns of JSON. */
export type DeviceDetailRow = Omit<DeviceDetail, 'hardware' | 'disks' | 'groups' | 'update' | 'flapping'> & {
  hardware: InJson<Hardware> | null
  disks: InJson<Disk>[]
  groups: InJson<DeviceGroup>[]
  update: InJson<DeviceUpdate> | null
  flapping: { since: string; reconnects: number } | null
}

const hardwareOf = (db: Db) => db.sql`
  (select jsonb_build_object('cpuModel', h.cpu_model, 'cpuCores', h.cpu_cores, 'cpuThreads', h.cpu_threads,
      'ramTotalBytes', h.ram_total_bytes, 'diskTotalBytes', h.disk_total_bytes, 'serialNumber', h.serial_number,
      'manufacturer', h.manufacturer, 'model', h.model, 'biosVersion', h.bios_version, 'gpuModel', h.gpu_model,
      'collectedAt', h.collected_at)
    from device_hardware h where h.device_id = d.id and ${db.visible('h')})`

const disksOf = (db: Db) => db.sql`
  (select coalesce(jsonb_agg(jsonb_build_object('mountPoint', k.mount_point, 'device', k.device, 'fsType', k.fs_type,
      'totalBytes', k.total_bytes, 'usedBytes', k.used_bytes, 'freeBytes', k.free_bytes,
      'collectedAt', k.collected_at) order by k.mount_point), '[]')
    from device_disks k where k.device_id = d.id and ${db.visible('k')})`

const groupsOf = (db: Db) => db.sql`
  (select coalesce(jsonb_agg(jsonb_build_object('groupId', g.id, 'groupName', g.name, 'groupType', g.kind,
      'addedAt', m.added_at) order by lower(g.name), g.id), '[]')
    from device_group_members m join device_groups g on g.id = m.group_id
    where m.device_id = d.id and ${db.visible('m')} and ${db.visibleGroup('g')})`

const updateOf = (db: Db) => db.sql`
  (select jsonb_build_object('component', u.component, 'phase', u.phase, 'from', u.from_version, 'to', u.to_version,
      'reason', u.reason, 'at', greatest(u.offered_at, u.reported_at))
    from device_updates u
    where u.device_id = d.id and ${db.visible('u')} and greatest(u.offered_at, u.reported_at) is not null
    order by greatest(u.offered_at, u.reported_at) desc limit 1)`

/** In one statement: what is asked for most often costs one round trip, and each part is of the same moment. */
export const findDetail = (db: Db, id: string) => db.one<DeviceDetailRow>`
  select ${columns(db)}, ${presence(db)}, d.boot_id, host(d.enrollment_ip) as enrollment_ip, d.enrollment_key_id,
    d.quarantined_at, d.quarantine_reason, o.name as org_name, s.name as site_name, s.timezone as site_timezone,
    case when d.flapping_since is not null
      then jsonb_build_object('since', d.flapping_since, 'reconnects', p.reconnects) end as flapping,
    ${hardwareOf(db)} as hardware, ${disksOf(db)} as disks, ${groupsOf(db)} as groups, ${updateOf(db)} as update
  from devices d
  join organizations o on o.id = d.org_id
  join sites s on s.id = d.site_id
  left join device_presence p on p.device_id = d.id
  where d.id = ${id} and ${db.visibleDevice('d')}`

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
