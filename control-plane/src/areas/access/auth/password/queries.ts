import type { Db } from '../../../../kernel/tenancy.ts'
import { isDone } from '../session/queries.ts'

/** Null: the account has none (made by an identity provider, or invited). */
export const findPassword = (db: Db, userId: string) => db.one<{ hash: string | null }>`
  select password_of(${userId}) as hash`

/** False when the password that was checked is not the account's any more. */
export const changePasswordHash = (db: Db, userId: string, checked: string, hash: string, at: Date) =>
  isDone(db.one`select change_password(${userId}, ${checked}, ${hash}, ${at}) as done`)

/** What the tenants of an account ask of it; `tenants`: their names. */
export interface Security {
  minLength: number
  requireMfa: boolean
  smsAllowed: boolean
  tenants: string[]
}

export const findSecurity = (db: Db, userId: string) => db.one<Security>`
  select * from security_of(${userId})`

/**
 * For the job alone, in scope `system`: who may get a link for a new password. Also a member of an organization who
 * never had one, since its identity provider may be gone; nobody who belongs only to what demands single sign-on.
 */
export const findForgetful = (db: Db, email: string) => db.one<{ id: string; name: string; email: string }>`
  select u.id, u.name, u.email from users u, password_home(u.id) h
  where u.email = ${email} and u.status = 'active' and h.demanded_by is null
    and (u.password_hash is not null
      or exists (select from organization_memberships m where ${db.visible('m')} and m.user_id = u.id))`
