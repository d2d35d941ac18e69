import type { Db } from '../../../../kernel/tenancy.ts'
import { isDone } from '../session/queries.ts'

export const beginPhoneCheck = (
  db: Db,
  check: { userId: string; phone: string; hash: Buffer; until: Date },
) => db.one`select begin_phone_check(${check.userId}, ${check.phone}, ${check.hash}, ${check.until})`

export interface SentCode {
  phoneNumber: string
  codeHash: Buffer
}

/** Counts an attempt. Nothing comes back when no code is out, it is over, or has had `most` attempts. */
export const tryPhoneCode = (db: Db, userId: string, at: Date, most: number) => db.one<SentCode>`
  select * from try_phone_code(${userId}, ${at}, ${most})`

/** True for exactly one of any number of uses. */
export const usePhoneCode = (db: Db, userId: string, hash: Buffer) =>
  isDone(db.one`select use_phone_code(${userId}, ${hash}) as done`)

export const setPhone = (db: Db, userId: string, phone: string, at: Date) => db.one`
  select set_phone(${userId}, ${phone}, ${at})`

/** False when the number is not verified or another factor is in force. */
export const enableSmsFactor = (db: Db, userId: string, hashes: readonly Buffer[], at: Date) =>
  isDone(db.one`select enable_sms_factor(${userId}, ${db.sql.array([...hashes])}, ${at}) as done`)

export interface SmsChallenge {
  id: string
  email: string
  mfaMethod: 'totp' | 'sms' | null
  /** null: none that is verified */
  phoneNumber: string | null
  partnerId: string | null
  orgId: string | null
}

export const findSmsChallenge = (db: Db, tokenHash: Buffer, at: Date) => db.one<SmsChallenge>`
  select * from sms_challenge(${tokenHash}, ${at})`

export const setChallengeCode = (db: Db, tokenHash: Buffer, hash: Buffer, at: Date, until: Date) =>
  isDone(db.one`select set_challenge_code(${tokenHash}, ${hash}, ${at}, ${until}) as done`)
