import type { Db } from '../../../../kernel/tenancy.ts'
import type { Holder } from '../session/queries.ts'

/** What a link is for that is mailed to an account. Each has at most one live link of each. */
export type LinkPurpose = 'reset_password'

/** Whose a link is. `partnerId` and `orgId`: the first usable tenant of theirs. */
export interface LinkHolder extends Holder {
  status: 'active' | 'invited' | 'disabled'
  mfaMethod: 'totp' | 'sms' | null
  platformAdmin: boolean
}

export const issueUserToken = (
  db: Db,
  userId: string,
  purpose: LinkPurpose,
  tokenHash: Buffer,
  at: Date,
  until: Date,
) => db.one`
  select issue_user_token(${userId}, ${purpose}, ${tokenHash}, ${at}, ${until})`

export const readUserToken = (
  db: Db,
  purpose: LinkPurpose,
  tokenHash: Buffer,
  at: Date,
) => db.one<LinkHolder>`
  select * from read_user_token(${purpose}, ${tokenHash}, ${at})`

/** The user's id for exactly one of any number of callers; null for the others. */
export const useUserToken = (db: Db, purpose: LinkPurpose, tokenHash: Buffer, at: Date) => db.one<{
  userId: string | null
}>`
  select use_user_token(${purpose}, ${tokenHash}, ${at}) as user_id`

/** Also voids every link that was mailed to the user. */
export const setPassword = (db: Db, userId: string, hash: string, at: Date) => db.one`
  select set_password(${userId}, ${hash}, ${at})`
