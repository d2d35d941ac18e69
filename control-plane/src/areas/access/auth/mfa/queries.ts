import type { Db } from '../../../../kernel/tenancy.ts'
import { type Holder, isDone, type PasswordHome } from '../session/queries.ts'

export interface Challenged extends Holder, PasswordHome {
  status: 'active' | 'invited' | 'disabled'
  mfaMethod: 'totp' | 'sms' | null
  totpSecret: Buffer | null
  /** of the code that was sent for this login, while it lives */
  smsCodeHash: Buffer | null
  platformAdmin: boolean
  /** the login came through this provider; null: by password */
  ssoProviderId: string | null
  /** of the link of an invitation that the code accepts too */
  inviteHash: Buffer | null
}

/** Counts an attempt. Nothing comes back for a challenge that is unknown, over, or has had `most` attempts. */
export const tryChallenge = (db: Db, tokenHash: Buffer, at: Date, most: number) => db.one<Challenged>`
  select a.id, a.email, a.name, a.avatar_url, a.status, a.mfa_method, a.totp_secret, a.sms_code_hash, a.auth_epoch, a.platform_admin,
    h.partner_id, h.org_id, h.demanded_by, h.sso_provider_id, a.invite_hash
  from try_mfa_challenge(${tokenHash}, ${at}, ${most}) a, challenge_home(${tokenHash}, a.id) h`

/** True for exactly one of any number of callers. */
export const closeChallenge = (db: Db, tokenHash: Buffer) =>
  isDone(db.one`select close_mfa_challenge(${tokenHash}) as done`)

/** RFC 6238 §5.2: true for exactly one of any number of uses of a step, and never for an older one. */
export const useTotpStep = (db: Db, userId: string, step: number) =>
  isDone(db.one`select use_totp_step(${userId}, ${step}) as done`)

/** True for exactly one of any number of uses of a recovery code. */
export const useRecoveryCode = (db: Db, userId: string, hash: Buffer) =>
  isDone(db.one`select use_recovery_code(${userId}, ${hash}) as done`)

export interface SecondFactor {
  mfaMethod: 'totp' | 'sms' | null
  totpSecret: Buffer | null
  phoneNumber: string | null
  phoneVerified: boolean
}

export const findSecondFactor = (db: Db, userId: string) => db.one<SecondFactor>`
  select * from second_factor_of(${userId})`

export const renewSecondFactor = (db: Db, userId: string, familyId: string, at: Date) =>
  isDone(db.one`select renew_second_factor(${userId}, ${familyId}, ${at}) as done`)

export interface PendingSetup {
  secret: Buffer
  recoveryCodes: Buffer
}

export const beginSetup = (
  db: Db,
  userId: string,
  setup: PendingSetup & { codeHashes: readonly Buffer[]; until: Date },
) => db.one`
  select begin_mfa_setup(${userId}, ${setup.secret}, ${setup.recoveryCodes}, ${db.sql.array([...setup.codeHashes])}, ${setup.until})`

export const findPendingSetup = (db: Db, userId: string, at: Date) => db.one<PendingSetup>`
  select * from pending_mfa_setup(${userId}, ${at})`

/** False when another set-up took this one's place, or it was confirmed already. */
export const confirmSetup = (db: Db, userId: string, setup: PendingSetup, step: number, at: Date) =>
  isDone(db.one`select confirm_mfa_setup(${userId}, ${setup.secret}, ${step}, ${at}) as done`)

/** False when no factor is in force any more. */
export const disableSecondFactor = (db: Db, userId: string, at: Date) =>
  isDone(db.one`select disable_second_factor(${userId}, ${at}) as done`)

/** All codes before are void. False when no factor is in force any more. */
export const replaceRecoveryCodes = (db: Db, userId: string, hashes: readonly Buffer[], at: Date) =>
  isDone(db.one`select replace_recovery_codes(${userId}, ${db.sql.array([...hashes])}, ${at}) as done`)
