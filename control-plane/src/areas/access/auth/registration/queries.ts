import type { Db } from '../../../../kernel/tenancy.ts'
import { isDone } from '../session/queries.ts'

export interface NewAccount {
  id: string
  email: string
  name: string
  hash: string
  at: Date
}

/** False when somebody has this address already; then nothing is changed. */
export const insertAccount = (db: Db, { id, email, name, hash, at }: NewAccount) =>
  isDone(db.one`select register_account(${id}, ${email}, ${name}, ${hash}, ${at}) as done`)

/** False when another partner has this slug. */
export const insertPartner = (db: Db, partner: { id: string; name: string; slug: string; at: Date }) =>
  isDone(
    db.one`select register_partner(${partner.id}, ${partner.name}, ${partner.slug}, ${partner.at}) as done`,
  )

/** What is done after it can be undone alone. */
export const beginAttempt = (db: Db) => db.run`savepoint attempt`
export const undoAttempt = (db: Db) => db.run`rollback to savepoint attempt`

/** Of who registers the partner: counts before the address is proved, as no other membership does. */
export const insertAdministrator = (
  db: Db,
  member: { partnerId: string; userId: string; roleId: string; at: Date },
) => db.run`
  insert into partner_memberships (partner_id, user_id, role_id, org_access, founder, created_at)
  values (${member.partnerId}, ${member.userId}, ${member.roleId}, 'all', true, ${member.at})`
