import type { Db } from '../../../../kernel/tenancy.ts'
import { holdIn, revokeIn } from '../queries.ts'

/** All of a partner, of one of its organizations, or of one site of that. */
export interface Whose {
  partnerId: string
  orgId?: string | undefined
  siteId?: string | undefined
}

/** Revokes every key of a tenant or place that is given up, in that transaction. */
export const revokeEnrollmentKeysOf = (db: Db, whose: Whose): Promise<number> => revokeIn(db, whose)

/**
 * Waits for the enrollments of a partner or an organization that are under way, so that their devices are seen by whoever changes
 * what becomes of all of its devices. To be called before rows of the tenant are held: an enrollment takes its locks in that order.
 */
export async function awaitEnrollmentsOf(
  db: Db,
  whose: { partnerId: string } | { orgId: string },
): Promise<void> {
  await holdIn(db, whose)
}
