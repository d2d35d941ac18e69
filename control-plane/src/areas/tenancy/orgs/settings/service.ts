import type { Db } from '../../../../kernel/tenancy.ts'
import { effective } from './merge.ts'
import { findOrganization } from '../organizations/queries.ts'

/** Settings that programs act upon. */
export interface EffectiveSettings {
  defaults?: {
    defaultEnrollmentTtlMinutes?: number
    defaultEnrollmentDeviceCount?: number
    maxEnrollmentLinkTtlMinutes?: number
  }
}

/** What holds in an organization that the caller sees; nothing is set in one that they do not. */
export async function settingsOf(db: Db, orgId: string): Promise<EffectiveSettings> {
  const row = await findOrganization(db, orgId)
  return row ? effective(row.settings, row.partnerSettings) : {}
}
