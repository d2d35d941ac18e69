import type { Db } from '../../../../kernel/tenancy.ts'

/** False for an account that was disabled. */
export const activateAccount = (db: Db, userId: string, at: Date) => db.one<{ activated: boolean }>`
  select activate_account(${userId}, ${at}) as activated`

/** The organization's name, or else the partner's. */
export const findTenantName = (
  db: Db,
  { partnerId, orgId }: { partnerId: string | null; orgId: string | null },
) =>
  db.one<{ name: string }>`
    select coalesce((select o.name from organizations o where ${db.visible('o')} and o.id = ${orgId}), p.name) as name
    from partners p where p.id = ${partnerId} and p.partner_id = ${partnerId}`
