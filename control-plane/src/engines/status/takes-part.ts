import type { Db } from '../../kernel/tenancy.ts'

/**
 * Whether a tenant's devices are let in and given work: neither the organization nor its partner is suspended or given up.
 *
 * @param aliases of the tables `organizations` and `partners`
 */
export const takesPart = (db: Db, { organization, partner }: { organization: string; partner: string }) =>
  db.sql`(${db.sql(organization)}.deleted_at is null and ${db.sql(organization)}.status in ('active', 'trial')
    and ${db.sql(partner)}.status in ('pending', 'active'))`
