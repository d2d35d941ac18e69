import type postgres from 'postgres'

/** What the stage is filled with. */
export interface Devices {
  /** rows of `devices`, each with presence, hardware, two disks where `details`, and a group */
  count: number
  /** tenants that they are spread over evenly; the caller's own is one of them */
  tenants: number
  /** disks and groups too, which only the detail of one device shows */
  details: boolean
}

/** The tenant that calls. */
export interface Place {
  partnerId: string
  organizationId: string
  siteId: string
  userId: string
}

/** The id of the n-th device, from 1: known to every side without asking. */
export const deviceId = (n: number): string => `0193a000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

/** The same in SQL; `n` is an expression. */
export const deviceIdSql = (n: string): string =>
  `('0193a000-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`

const tenantSql = (kind: string, n: string) =>
  `('0193b${kind}00-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`

/**
 * Fills the tables, as the superuser and without triggers, which would look at every row of a million once more. Devices 1, 1 + tenants, …
 * belong to the calling tenant. Ends with fresh statistics and a checkpoint, so that no round pays for the filling.
 */
export async function fillDevices(sql: postgres.Sql, place: Place, devices: Devices): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    if (devices.tenants > 1) await makeTenants(tx, devices.tenants)
    await tx.unsafe(deviceRows(place, devices))
    await tx`
      insert into device_presence (device_id, partner_id, org_id, last_seen_at, cpu_percent, ram_percent, disk_percent, uptime_seconds)
      select d.id, d.partner_id, d.org_id, d.offline_seen_at, 12.5, 48, 63.25, 86400 from devices d`
    await tx`
      insert into device_hardware (device_id, partner_id, org_id, cpu_model, cpu_cores, cpu_threads, ram_total_bytes, disk_total_bytes,
        serial_number, manufacturer, model, bios_version, collected_at)
      select d.id, d.partner_id, d.org_id, 'Xeon E-2388G', 8, 16, 34359738368, 1024209543168, 'SN' || right(d.id::text, 12), 'Maker',
        'Model 7', '2.14', now() from devices d`
    if (devices.details) await fillDetails(tx, place)
  })
  await sql.unsafe('vacuum (analyze)')
  await sql.unsafe('checkpoint')
}

async function makeTenants(tx: postgres.TransactionSql, tenants: number) {
  await tx.unsafe(`
    insert into partners (id, name, slug) select ${tenantSql('a', 't')}, 'Tenant ' || t, 'tenant-' || t from generate_series(1, ${tenants - 1}) t`)
  await tx.unsafe(`
    insert into organizations (id, partner_id, name, slug)
    select ${tenantSql('b', 't')}, ${tenantSql('a', 't')}, 'Tenant ' || t, 'tenant-' || t from generate_series(1, ${tenants - 1}) t`)
  await tx.unsafe(`
    insert into sites (id, partner_id, org_id, name)
    select ${tenantSql('c', 't')}, ${tenantSql('a', 't')}, ${tenantSql('b', 't')}, 'Site' from generate_series(1, ${tenants - 1}) t`)
}

/** Names in an order other than that of ids, contacts in a third one; one in five is online. */
function deviceRows({ partnerId, organizationId, siteId }: Place, { count, tenants }: Devices): string {
  const of = (kind: string, own: string) =>
    tenants === 1
      ? `'${own}'::uuid`
      : `case n % ${tenants} when ${1 % tenants} then '${own}'::uuid else ${tenantSql(kind, `(n + ${tenants - 2}) % ${tenants} + 1`)} end`
  return `
    insert into devices (id, partner_id, org_id, site_id, hostname, display_name, os_type, os_name, os_version, os_build, architecture,
      agent_version, device_role, tags, custom_fields, last_user, last_seen_ip, enrollment_ip, enrolled_at, connectivity, offline_seen_at)
    select ${deviceIdSql('n')}, ${of('a', partnerId)}, ${of('b', organizationId)}, ${of('c', siteId)},
      'host-' || md5(n::text), 'Desk ' || n, (array['windows', 'linux', 'macos'])[n % 3 + 1], 'System ' || n % 3, '11.' || n % 7, '22631',
      'x64', '0.1.0', (array['workstation', 'server'])[n % 2 + 1], array['floor-' || n % 9, 'lease'], '{"cost": 12, "owner": "desk"}',
      'user' || n % 500, '192.0.2.7', '192.0.2.8', now() - make_interval(secs => (n::bigint * 7919) % 31536000),
      case n % 5 when 0 then 'online' else 'offline' end,
      case n % 5 when 0 then null else now() - make_interval(secs => (n::bigint * 104729) % 2592000) end
    from generate_series(1, ${count}) n`
}

async function fillDetails(tx: postgres.TransactionSql, { partnerId, organizationId }: Place) {
  const groupId = '0193c000-0000-7000-8000-000000000001'
  await tx`
    insert into device_disks (device_id, partner_id, org_id, mount_point, device, fs_type, total_bytes, used_bytes, free_bytes, collected_at)
    select d.id, d.partner_id, d.org_id, m.at, '/dev/sda' || m.i, 'ext4', 512104771584, 204841908633, 307262862951, now()
    from devices d, (values ('/', 1), ('/home', 2)) m (at, i)`
  await tx`
    insert into device_groups (id, partner_id, org_id, name) values (${groupId}, ${partnerId}, ${organizationId}, 'Everybody')`
  await tx`
    insert into device_group_members (group_id, device_id, partner_id, org_id)
    select ${groupId}, d.id, d.partner_id, d.org_id from devices d where d.partner_id = ${partnerId}`
}
