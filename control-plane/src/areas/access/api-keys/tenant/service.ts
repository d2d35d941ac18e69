import type { Db } from '../../../../kernel/tenancy.ts'
import { type OwnersPlace, revokeIn, revokeOfOwners } from '../queries.ts'

/** Revokes every key of a partner, or for one of its organizations, in the transaction that gives it up. After the commit tell `ports.apiKeys`. */
export const revokeApiKeysOf = (
  db: Db,
  whose: { partnerId: string; orgId?: string | undefined },
): Promise<number> => revokeIn(db, whose)

/**
 * Revokes what users own under memberships that end, in that transaction: whoever is given another one later does not find it working
 * again. After the commit tell `ports.apiKeys`.
 */
export const revokeApiKeysOfMembers = (db: Db, places: readonly OwnersPlace[]): Promise<number> =>
  revokeOfOwners(db, places)
