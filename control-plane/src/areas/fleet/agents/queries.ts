import type { Db } from '../../../kernel/tenancy.ts'
import type { Enroll, EnrollHardware } from './schema.ts'

/** A good key has no `refusal`; the ids are null for a key that does not exist. */
export type KeyUse =
  | { refusal: null; keyId: string; partnerId: string; orgId: string; siteId: string }
  | {
      refusal: string
      keyId: string | null
      partnerId: string | null
      orgId: string | null
      siteId: string | null
    }

/** Checks the key and counts its use, in one statement and before a scope exists. Undone if the transaction is. */
export const useEnrollmentKey = (db: Db, hash: Uint8Array) => db.one<KeyUse>`
  select key_id, partner_id, org_id, site_id, refusal from use_enrollment_key(${hash})`

/** As {@link useEnrollmentKey}, for a device with a key of its own: of one that it made a device of already it counts nothing. */
export const useEnrollmentKeyOfDevice = (db: Db, hash: Uint8Array, publicKey: Uint8Array) => db.one<KeyUse>`
  select key_id, partner_id, org_id, site_id, refusal from use_enrollment_key_of_device(${hash}, ${publicKey})`

export const findDeviceLimit = async (db: Db, orgId: string) => {
  const row = await db.one<{ maxDevices: number | null }>`
    select o.max_devices from organizations o where o.id = ${orgId} and ${db.visible('o')}`
  return row?.maxDevices ?? null
}

/** The organization's enrollments wait for each other from here on, so that no two count the same free place. */
export const lockOrganization = (db: Db, orgId: string) => db.one<{ maxDevices: number | null }>`
  select o.max_devices from organizations o where o.id = ${orgId} and ${db.visible('o')} for no key update of o`

export const countActiveDevices = async (db: Db, orgId: string) => {
  const row = await db.one<{ devices: number }>`
    select count(*)::int as devices from devices d
    where d.org_id = ${orgId} and d.lifecycle <> 'decommissioned' and ${db.visible('d')}`
  return row?.devices ?? 0
}

/** No row where the partner has no limit; else its enrollments wait for each other from here on. */
export const findPartnerRoom = (db: Db, partnerId: string) => db.one<{ devices: number; maxDevices: number }>`
  select devices, max_devices from devices_of_partner(${partnerId})`

export interface NewDevice {
  id: string
  partnerId: string
  orgId: string
  siteId: string
  keyId: string
  tokenSha256: Uint8Array
  ip: string
}

export const insertDevice = (db: Db, device: NewDevice, facts: Enroll) => db.run`
  insert into devices (id, partner_id, org_id, site_id, hostname, os_type, os_name, os_version, os_build, architecture,
    agent_version, device_role, is_virtual, virtualization_platform, enrollment_ip, enrollment_key_id, enrolled_at, token_sha256,
    token_issued_at, public_key)
  values (${device.id}, ${device.partnerId}, ${device.orgId}, ${device.siteId}, ${facts.hostname}, ${facts.osType},
    ${facts.osName ?? null}, ${facts.osVersion ?? null}, ${facts.osBuild ?? null}, ${facts.architecture}, ${facts.agentVersion},
    ${facts.deviceRole}, ${facts.isVirtual ?? null}, ${facts.virtualizationPlatform ?? null}, ${device.ip}, ${device.keyId}, now(),
    ${device.tokenSha256}, now(), ${facts.publicKey ?? null})`

/**
 * The device that has this key in the organization, and whether nobody was ever connected as it. Others who enroll with the key wait from
 * here on.
 */
export const lockDeviceOfKey = (db: Db, orgId: string, publicKey: Uint8Array) =>
  db.one<{
    id: string
    siteId: string
    isNew: boolean
  }>`select id, site_id, is_new from device_of_key(${orgId}, ${publicKey})`

/** Beside the token that it was given before: whichever of them is used is its token. */
export const giveNextToken = (db: Db, id: string, tokenSha256: Uint8Array) => db.run`
  update devices d set next_token_sha256 = ${tokenSha256}, next_token_at = now() where d.id = ${id} and ${db.visible('d')}`

export const insertPresence = (db: Db, { id, partnerId, orgId }: NewDevice) => db.run`
  insert into device_presence (device_id, partner_id, org_id) values (${id}, ${partnerId}, ${orgId})`

export const insertHardware = (db: Db, { id, partnerId, orgId }: NewDevice, h: EnrollHardware) => db.run`
  insert into device_hardware (device_id, partner_id, org_id, cpu_model, cpu_cores, cpu_threads, ram_total_bytes,
    disk_total_bytes, serial_number, manufacturer, model, bios_version, gpu_model, collected_at)
  values (${id}, ${partnerId}, ${orgId}, ${h.cpuModel ?? null}, ${h.cpuCores ?? null}, ${h.cpuThreads ?? null},
    ${h.ramTotalBytes ?? null}, ${h.diskTotalBytes ?? null}, ${h.serialNumber ?? null}, ${h.manufacturer ?? null},
    ${h.model ?? null}, ${h.biosVersion ?? null}, ${h.gpuModel ?? null}, now())`
