import postgres from 'postgres'

/**
 * What `GET /devices/:id` asks the database, without scope, without conditions on the tenant, as the superuser, to whom no policy applies: the
 * same tables, the same columns, as many statements. That the answers are alike is checked before anything is measured.
 */
export async function deviceDetail(sql: postgres.Sql, id: string): Promise<object | undefined> {
  const [[device], [hardware], disks, groups, [update]] = await Promise.all([
    sql`
      select d.id, d.org_id, d.site_id, d.hostname, d.display_name, d.os_type, d.os_name, d.os_version, d.os_build, d.architecture,
        d.agent_version, d.helper_version, d.watchdog_version, d.device_role, d.status, d.tags, d.custom_fields,
        d.auto_update_enabled, d.is_virtual, d.virtualization_platform, d.pending_reboot, d.last_user,
        host(d.last_seen_ip) as last_seen_ip, d.main_agent_silent_since, d.watchdog_status, d.enrolled_at, d.decommissioned_at,
        d.created_at, d.updated_at,
        p.last_seen_at, p.cpu_percent, p.ram_percent, p.disk_percent, p.uptime_seconds, d.boot_id,
        host(d.enrollment_ip) as enrollment_ip, d.enrollment_key_id, o.name as org_name, s.name as site_name,
        s.timezone as site_timezone
      from devices d
      join organizations o on o.id = d.org_id
      join sites s on s.id = d.site_id
      left join device_presence p on p.device_id = d.id
      where d.id = ${id}`,
    sql`
      select h.cpu_model, h.cpu_cores, h.cpu_threads, h.ram_total_bytes, h.disk_total_bytes, h.serial_number, h.manufacturer,
        h.model, h.bios_version, h.gpu_model, h.collected_at
      from device_hardware h where h.device_id = ${id}`,
    sql`
      select k.mount_point, k.device, k.fs_type, k.total_bytes, k.used_bytes, k.free_bytes, k.collected_at
      from device_disks k where k.device_id = ${id} order by k.mount_point`,
    sql`
      select g.id as group_id, g.name as group_name, g.kind as group_type, m.added_at
      from device_group_members m join device_groups g on g.id = m.group_id
      where m.device_id = ${id} order by lower(g.name), g.id`,
    sql`
      select u.component, u.phase, u.from_version as "from", u.to_version as "to", u.reason,
        greatest(u.offered_at, u.reported_at) as at
      from device_updates u where u.device_id = ${id} and greatest(u.offered_at, u.reported_at) is not null
      order by at desc limit 1`,
  ])
  return device && { ...device, hardware: hardware ?? null, disks, groups, update: update ?? null }
}

/** Connections as the product has them: as many, prepared statements, names in camelCase. */
export const openDatabase = (url: string, connections: number): postgres.Sql =>
  postgres(url, {
    max: connections,
    connection: { search_path: 'svc', TimeZone: 'UTC' },
    onnotice: () => undefined,
    transform: postgres.camel,
    types: { bigint: { to: 20, from: [20], parse: Number, serialize: String } },
  })
