import { pageSize, type Sort, sorts, type Direction } from './sorts.ts'

/** Where a page begins: behind this row. */
export interface Position {
  key: string
  id: string
}

export interface PageOf {
  partnerId: string
  sort: Sort
  dir: Direction
  after?: Position | undefined
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

/**
 * The statement of a page of `GET /devices`, without scope: one tenant's devices in order of an index, completed row by row. One row more than
 * the page shows, as the product reads it.
 */
export function pageStatement({ partnerId, sort, dir, after }: PageOf): string {
  const { column, type } = sorts[sort]
  const beyond = after
    ? `and (d.${column}, d.id) ${dir === 'asc' ? '>' : '<'} (${quoted(after.key)}::${type}, ${quoted(after.id)}::uuid)`
    : ''
  const partner = quoted(partnerId)
  return `select d.*, p.last_seen_at, p.cpu_percent, p.ram_percent, p.disk_percent, p.uptime_seconds,
  case when h.device_id is not null then jsonb_build_object('cpuModel', h.cpu_model, 'cpuCores', h.cpu_cores,
    'ramTotalBytes', h.ram_total_bytes, 'diskTotalBytes', h.disk_total_bytes) end as hardware
from (
  select d.id, d.org_id, d.site_id, d.hostname, d.display_name, d.os_type, d.os_name, d.os_version, d.os_build, d.architecture,
    d.agent_version, d.helper_version, d.watchdog_version, d.device_role, d.status, d.tags, d.custom_fields, d.auto_update_enabled,
    d.is_virtual, d.virtualization_platform, d.pending_reboot, d.last_user, host(d.last_seen_ip) as last_seen_ip,
    d.main_agent_silent_since, d.watchdog_status, d.enrolled_at, d.decommissioned_at, d.created_at, d.updated_at,
    d.${column} as place, d.${column}::text as sort_key
  from devices d
  where d.partner_id = ${partner} and d.lifecycle <> 'decommissioned' ${beyond}
  order by d.${column} ${dir}, d.id ${dir}
  limit ${pageSize + 1}
) d
left join device_presence p on p.device_id = d.id and p.partner_id = ${partner}
left join device_hardware h on h.device_id = d.id and h.partner_id = ${partner}
order by d.place ${dir}, d.id ${dir}`
}
