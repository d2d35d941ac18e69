import type { Db } from '../../../../kernel/tenancy.ts'
import type { Holder } from '../session/queries.ts'

/** `associated`: a member of something, be it suspended. `partnerId` is null for a user of no usable tenant. */
export interface LoginAccount extends Holder {
  status: 'active' | 'invited' | 'disabled'
  passwordHash: string | null
  mfaMethod: 'totp' | 'sms' | null
  platformAdmin: boolean
  associated: boolean
}

export const findLoginAccount = (db: Db, email: string) => db.one<LoginAccount>`
  select * from login_account(${email})`

export const openChallenge = (db: Db, userId: string, tokenHash: Buffer, at: Date, until: Date) => db.one`
  select open_mfa_challenge(${userId}, ${tokenHash}, ${at}, ${until})`

/** Changes nothing when the password was changed since it was checked. */
export const upgradePasswordHash = (db: Db, { id, passwordHash }: LoginAccount, better: string) => db.one`
  select upgrade_password_hash(${id}, ${passwordHash}, ${better})`
