import type { Db } from '../../../../kernel/tenancy.ts'
import { revokeIn } from '../queries.ts'

/** Revokes every key of a partner, or for one of its organizations, in the transaction that gives it up. After the commit tell `ports.apiKeys`. */
export const revokeApiKeysOf = (
  db: Db,
  whose: { partnerId: string; orgId?: string | undefined },
): Promise<number> => revokeIn(db, whose)
