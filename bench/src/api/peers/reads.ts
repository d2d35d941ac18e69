import postgres from 'postgres'

/** Times in a column of JSON come as text. */
const time = (text: string | null) => (text === null ? null : new Date(text))

/**
 * What `GET /devices/:id` asks the database, in as many statements and with the same columns, but without scope or conditions on the tenant, as
 * the superuser, to whom no policy applies. That the answers are alike is checked before anything is measured.
 */
export async function deviceDetail(sql: postgres.Sql, id: string): Promise<object | undefined> {
  const [row] = await sql`
    select d.id, d.org_id, d.site_id, d.hostname, d.display_name, d.os_type, d.os_name, d.os_version, d.os_build, d.architecture,
      d.agent_version, d.helper_version, d.watchdog_version, d.device_role, d.status, d.tags, d.custom_fields,
      d.auto_update_enabled, d.is_virtual, d.virtualization_platform, d.pending_reboot, d.last_user,
      host(d.last_seen_ip) as last_seen_ip, d.main_agent_silent_since, d.watchdog_status, d.enrolled_at, d.decommissioned_at,
      d.quarantined_at, d.quarantine_reason,
      d.created_at, d.updated_at, p.last_seen_at, p.cpu_percent, p.ram_percent, p.disk_percent, p.uptime_seconds, d.boot_id,
      host(d.enrollment_ip) as enrollment_ip, d.enrollment_key_id, o.name as org_name, s.name as site_name,
      s.timezone as site_timezone,
      case when d.flapping_since is not null
        then jsonb_build_object('since', d.flapping_since, 'reconnects', p.reconnects) end as flapping,
      (select jsonb_build_object('cpuModel', h.cpu_model, 'cpuCores', h.cpu_cores, 'cpuThreads', h.cpu_threads,
          'ramTotalBytes', h.ram_total_bytes, 'diskTotalBytes', h.disk_total_bytes, 'serialNumber', h.serial_number,
          'manufacturer', h.manufacturer, 'model', h.model, 'biosVersion', h.bios_version, 'gpuModel', h.gpu_model,
          'collectedAt', h.collected_at)
        from device_hardware h where h.device_id = d.id) as hardware,
      (select coalesce(jsonb_agg(jsonb_build_object('mountPoint', k.mount_point, 'device', k.device, 'fsType', k.fs_type,
          'totalBytes', k.total_bytes, 'usedBytes', k.used_bytes, 'freeBytes', k.free_bytes,
          'collectedAt', k.collected_at) order by k.mount_point), '[]')
        from device_disks k where k.device_id = d.id) as disks,
      (select coalesce(jsonb_agg(jsonb_build_object('groupId', g.id, 'groupName', g.name, 'groupType', g.kind,
          'addedAt', m.added_at) order by lower(g.name), g.id), '[]')
        from device_group_members m join device_groups g on g.id = m.group_id where m.device_id = d.id) as groups,
      (select jsonb_build_object('component', u.component, 'phase', u.phase, 'from', u.from_version, 'to', u.to_version,
          'reason', u.reason, 'at', greatest(u.offered_at, u.reported_at))
        from device_updates u where u.device_id = d.id and greatest(u.offered_at, u.reported_at) is not null
        order by greatest(u.offered_at, u.reported_at) desc limit 1) as update
    from devices d
    join organizations o on o.id = d.org_id
    join sites s on s.id = d.site_id
    left join device_presence p on p.device_id = d.id
    where d.id = ${id}`
  if (!row) return undefined
  const { hardware, disks, groups, update, flapping, ...device } = row as Row
  return {
    ...device,
    hardware: hardware && { ...hardware, collectedAt: time(hardware.collectedAt) },
    disks: disks.map((disk) => ({ ...disk, collectedAt: time(disk.collectedAt) })),
    groups: groups.map((group) => ({ ...group, addedAt: time(group.addedAt) })),
    update: update && { ...update, at: time(update.at) },
    flapping: flapping && { ...flapping, since: time(flapping.since) },
  }
}

interface Row {
  hardware: { collectedAt: string | null } | null
  disks: { collectedAt: string }[]
  groups: { addedAt: string }[]
  update: { at: string } | null
  flapping: { since: string; reconnects: number } | null
}

/** Connections as the product has them: as many, prepared statements, names in camelCase. */
export const openDatabase = (url: string, connections: number): postgres.Sql =>
  postgres(url, {
    max: connections,
    connection: { search_path: 'svc', TimeZone: 'UTC' },
    onnotice: () => undefined,
    // Of columns alone, as the product has it: what is in a column of JSON is named there.
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  })
