import type { Db } from '../../../../kernel/tenancy.ts'

/** In whatever transaction: an export's only reads, and locks nothing. */
export const isThere = async (db: Db, orgId: string): Promise<boolean> =>
  (await db.one`
    select o.id from organizations o where ${db.visible('o')} and o.id = ${orgId} and o.deleted_at is null`) !==
  undefined
