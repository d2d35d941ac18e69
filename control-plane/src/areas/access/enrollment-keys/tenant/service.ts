import type { Db } from '../../../../kernel/tenancy.ts'
import { revokeIn } from '../queries.ts'

/** All of a partner, of one of its organizations, or of one site of that. */
export interface Whose {
  partnerId: string
  orgId?: string | undefined
  siteId?: string | undefined
}

/** Revokes every key of a tenant or place that is given up, in that transaction. */
export const revokeEnrollmentKeysOf = (db: Db, whose: Whose): Promise<number> => revokeIn(db, whose)
