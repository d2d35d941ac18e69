import type { Db } from '../../../../kernel/tenancy.ts'
import { type Holder, isDone, type PasswordHome } from '../session/queries.ts'

/** `associated`: a member of something, be it suspended. `partnerId` is null for a user of no usable tenant that takes passwords. */
export interface LoginAccount extends Holder, PasswordHome {
  status: 'active' | 'invited' | 'disabled'
  passwordHash: string | null
  mfaMethod: 'totp' | 'sms' | null
  platformAdmin: boolean
  associated: boolean
}

export const findLoginAccount = (db: Db, email: string) => db.one<LoginAccount>`
  select a.id, a.email, a.name, a.avatar_url, a.status, a.password_hash, a.mfa_method, a.auth_epoch, a.platform_admin, a.associated,
    h.partner_id, h.org_id, h.demanded_by
  from login_account(${email}) a, password_home(a.id) h`

/** False when the account was disabled or logged out, or got a new password, since it was looked up. */
export const openChallenge = (
  db: Db,
  { id, authEpoch }: Pick<Holder, 'id' | 'authEpoch'>,
  tokenHash: Buffer,
  at: Date,
  until: Date,
) => isDone(db.one`select open_challenge(${id}, ${authEpoch}, ${tokenHash}, ${at}, ${until}) as done`)

/** The login that waits for its second factor came through an identity provider. */
export const markSsoChallenge = (db: Db, tokenHash: Buffer, providerId: string) => db.one`
  select mark_sso_challenge(${tokenHash}, ${providerId})`

/** The login that waits for its second factor also accepts this invitation, by the hash of its link. */
export const awaitInvitation = (db: Db, challenge: Buffer, invite: Buffer) => db.one`
  select await_invitation(${challenge}, ${invite})`

/** Changes nothing when the password was changed since it was checked. */
export const upgradePasswordHash = (db: Db, { id, passwordHash }: LoginAccount, better: string) => db.one`
  select upgrade_password_hash(${id}, ${passwordHash}, ${better})`
