import type { Db } from '../../../../kernel/tenancy.ts'

export interface Configured {
  configVersion: number
  /** where its connection is; null: nowhere */
  node: string | null
  epoch: number
}

/** A new version of the device's configuration. This row before that of the device: so do heartbeats. */
export const renewConfig = (db: Db, deviceId: string) => db.one<Configured>`
  update device_presence p set config_version = p.config_version + 1
  where p.device_id = ${deviceId} and ${db.visibleDevice('p', 'device_id')}
  returning p.config_version, p.node, p.epoch`

export interface ConfiguredDevice {
  partnerId: string
  orgId: string
  hostname: string
  status: string
}

export const updateAutoUpdate = (db: Db, deviceId: string, enabled: boolean) => db.one<ConfiguredDevice>`
  update devices d set auto_update_enabled = ${enabled}, updated_at = now()
  where d.id = ${deviceId} and ${db.visibleDevice('d')}
  returning d.partner_id, d.org_id, d.hostname, d.status`
