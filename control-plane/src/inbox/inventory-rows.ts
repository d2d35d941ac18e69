import type { Db } from '../kernel/tenancy.ts'
import { bytes, number, owner, type Row, text } from './inventory-values.ts'

/** Most disks that are kept of one device, by mount point. */
const maxDisks = 256

/** Whole rows: what an agent no longer says is no longer there. */
export async function writeHardware(db: Db, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  const records = rows.map((row) => {
    const said = row.payload.hardware ?? {}
    return {
      ...owner(row),
      cpu_model: text(said.cpuModel),
      cpu_cores: number(said.cpuCores),
      cpu_threads: number(said.cpuThreads),
      ram_total_bytes: bytes(said.ramTotalBytes),
      disk_total_bytes: bytes(said.diskTotalBytes),
      serial_number: text(said.serialNumber),
      manufacturer: text(said.manufacturer),
      model: text(said.model),
      bios_version: text(said.biosVersion),
      gpu_model: text(said.gpuModel),
      is_virtual: said.isVirtual ?? false,
      virtualization_platform: text(said.virtualizationPlatform),
    }
  })
  await db.run`
    with said as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(records)}::text::jsonb) as s (device_id uuid, partner_id uuid,
        org_id uuid, collected_at timestamptz, cpu_model text, cpu_cores int, cpu_threads int, ram_total_bytes bigint,
        disk_total_bytes bigint, serial_number text, manufacturer text, model text, bios_version text, gpu_model text,
        is_virtual boolean, virtualization_platform text)),
    virtual as (
      update devices d set is_virtual = s.is_virtual, virtualization_platform = s.virtualization_platform, updated_at = now()
      from said s where d.id = s.device_id and (d.is_virtual, d.virtualization_platform)
        is distinct from (s.is_virtual, s.virtualization_platform))
    insert into device_hardware as h (device_id, partner_id, org_id, collected_at, cpu_model, cpu_cores, cpu_threads,
      ram_total_bytes, disk_total_bytes, serial_number, manufacturer, model, bios_version, gpu_model)
    select device_id, partner_id, org_id, collected_at, cpu_model, cpu_cores, cpu_threads, ram_total_bytes,
      disk_total_bytes, serial_number, manufacturer, model, bios_version, gpu_model from said
    on conflict (device_id) do update set collected_at = excluded.collected_at, cpu_model = excluded.cpu_model,
      cpu_cores = excluded.cpu_cores, cpu_threads = excluded.cpu_threads, ram_total_bytes = excluded.ram_total_bytes,
      disk_total_bytes = excluded.disk_total_bytes, serial_number = excluded.serial_number,
      manufacturer = excluded.manufacturer, model = excluded.model, bios_version = excluded.bios_version,
      gpu_model = excluded.gpu_model`
}

/** The operating system lives on the device row. What is not said stays. */
export async function writeSystems(db: Db, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  const records = rows.map((row) => {
    const said = row.payload.os ?? {}
    return {
      device_id: row.deviceId,
      hostname: text(said.hostname),
      os_name: text(said.name),
      os_version: text(said.version),
      os_build: text(said.build),
      architecture: text(said.architecture),
      boot_id: text(said.bootId),
    }
  })
  await db.run`
    update devices d set hostname = coalesce(s.hostname, d.hostname), os_name = coalesce(s.os_name, d.os_name),
      os_version = coalesce(s.os_version, d.os_version), os_build = coalesce(s.os_build, d.os_build),
      architecture = coalesce(s.architecture, d.architecture), boot_id = coalesce(s.boot_id, d.boot_id), updated_at = now()
    from jsonb_to_recordset(${JSON.stringify(records)}::text::jsonb) as s (device_id uuid, hostname text, os_name text,
      os_version text, os_build text, architecture text, boot_id text)
    where d.id = s.device_id`
}

/** Replaces each device's set of disks. Of two with one mount point the later counts. */
export async function writeDisks(db: Db, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  const records = rows.flatMap((row) => disksOf(row).map((disk) => ({ ...owner(row), ...disk })))
  await db.run`
    with said as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(records)}::text::jsonb) as s (device_id uuid, partner_id uuid,
        org_id uuid, collected_at timestamptz, mount_point text, device text, fs_type text, total_bytes bigint,
        used_bytes bigint, free_bytes bigint)),
    gone as (
      delete from device_disks d where d.device_id in (select jsonb_array_elements_text(
          ${JSON.stringify(rows.map((row) => row.deviceId))}::text::jsonb)::uuid)
        and not exists (select from said s where s.device_id = d.device_id and s.mount_point = d.mount_point))
    insert into device_disks (device_id, partner_id, org_id, collected_at, mount_point, device, fs_type, total_bytes,
      used_bytes, free_bytes)
    select device_id, partner_id, org_id, collected_at, mount_point, device, fs_type, total_bytes, used_bytes, free_bytes
    from said
    on conflict (device_id, mount_point) do update set collected_at = excluded.collected_at, device = excluded.device,
      fs_type = excluded.fs_type, total_bytes = excluded.total_bytes, used_bytes = excluded.used_bytes,
      free_bytes = excluded.free_bytes`
}

function disksOf(row: Row) {
  const byMount = new Map(
    (row.payload.disks?.disks ?? []).slice(0, maxDisks).map((disk) => {
      const mount_point = text(disk.mountPoint, 1024) ?? ''
      const sizes = {
        total_bytes: bytes(disk.totalBytes),
        used_bytes: bytes(disk.usedBytes),
        free_bytes: bytes(disk.freeBytes),
      }
      return [
        mount_point,
        { mount_point, device: text(disk.device), fs_type: text(disk.fsType, 64), ...sizes },
      ]
    }),
  )
  return [...byMount.values()]
}
