import type { Db } from '../../../../kernel/tenancy.ts'
import type { Me } from './schema.ts'

/** What a function answers that does something to one of any number of callers, or to none. */
export const isDone = async (row: Promise<{ done: boolean } | undefined>): Promise<boolean> =>
  (await row)?.done === true

/** Whom a session is opened for, and the tenant that the audit log files it under. */
export interface Holder {
  id: string
  email: string
  name: string
  avatarUrl: string | null
  authEpoch: number
  partnerId: string | null
  orgId: string | null
}

export interface NewSession {
  familyId: string
  tokenHash: Buffer
  mfa: boolean
  at: Date
  idleUntil: Date
  until: Date
}

/** Nothing comes back when the account was disabled or logged out since it was looked up. */
export const openSession = (db: Db, holder: Holder, session: NewSession) => db.one<{ authEpoch: number }>`
  select auth_epoch from open_session(${holder.id}, ${holder.authEpoch}, ${holder.partnerId}, ${holder.orgId},
    ${session.familyId}, ${session.tokenHash}, ${session.mfa}, ${session.at}, ${session.idleUntil}, ${session.until})`

/** A login through an identity provider. `mfa`: that one checked a second factor and is trusted for it, at `mfaAt` where it said when. */
export interface SsoSession {
  providerId: string
  mfa: boolean
  mfaAt: Date | null
}

/** False when the provider serves no logins any more; then nothing may be committed. */
export const markSsoSession = (db: Db, familyId: string, { providerId, mfa, mfaAt }: SsoSession) =>
  isDone(db.one`select mark_sso_session(${familyId}, ${providerId}, ${mfa}, ${mfaAt}) as done`)

/** Nothing comes back for a login by password. */
export const findSsoOfSession = (db: Db, familyId: string) => db.one<Pick<SsoSession, 'providerId' | 'mfa'>>`
  select * from sso_of_session(${familyId})`

/** False when the organization demands single sign-on; else it does not begin to before the commit. */
export const holdPasswordLogin = (db: Db, orgId: string) =>
  isDone(db.one`select hold_password_login(${orgId}) as done`)

/** What a login by password is for. `demandedBy`: an organization that demands single sign-on, where nothing else is left. */
export interface PasswordHome {
  partnerId: string | null
  orgId: string | null
  demandedBy: string | null
}

export const findPasswordHome = (db: Db, userId: string) => db.one<PasswordHome>`
  select * from password_home(${userId})`

/** Is there nothing else that the account belongs to, be it suspended or not accepted yet? */
export const isOfOrganizationAlone = (db: Db, userId: string, orgId: string) =>
  isDone(db.one`select is_of_organization_alone(${userId}, ${orgId}) as done`)

/** The logins for one membership end; those for others go on. */
export const endMembershipSessions = (
  db: Db,
  userId: string,
  { partnerId, orgId }: { partnerId: string; orgId: string },
  reason: string,
  at: Date,
) => db.one`select end_membership_sessions(${userId}, ${partnerId}, ${orgId}, ${reason}, ${at})`

/** What became of a presented refresh token; the columns are those of the function of this name. */
export interface Rotation {
  outcome: 'rotate' | 'retried' | 'raced' | 'reused' | 'dead'
  familyId: string
  userId: string
  email: string
  authEpoch: number
  mfa: boolean
  mfaAt: Date | null
  until: Date
  retryAnswer: Buffer | null
  partnerId: string | null
  orgId: string | null
}

/** Windows in seconds. */
export const useRefreshToken = (
  db: Db,
  token: { hash: Buffer; retryKeyHash: Buffer | null; at: Date; raceSeconds: number; retrySeconds: number },
) => db.one<Rotation>`
  select * from use_refresh_token(${token.hash}, ${token.retryKeyHash}, ${token.at},
    make_interval(secs => ${token.raceSeconds}), make_interval(secs => ${token.retrySeconds}))`

export interface Successor {
  familyId: string
  usedHash: Buffer
  tokenHash: Buffer
  at: Date
  idleUntil: Date
  retryKeyHash: Buffer | null
  retryAnswer: Buffer | null
}

export const storeSuccessor = (db: Db, next: Successor) => db.one`
  select store_successor(${next.familyId}, ${next.usedHash}, ${next.tokenHash}, ${next.at}, ${next.idleUntil},
    ${next.retryKeyHash}, ${next.retryAnswer})`

/** All tokens of the user die. The new epoch comes back. */
export const endSessions = (db: Db, userId: string, reason: string, at: Date) => db.one<{ epoch: number }>`
  select end_sessions(${userId}, ${reason}, ${at}) as epoch`

export interface Renewal {
  userId: string
  familyId: string
  token: { hash: Buffer; idleSeconds: number }
  secondFactor: boolean
  reason: string
  at: Date
}

/** All tokens of the user die; this login goes on with a new one. Nothing comes back when it has ended. */
export const renewLoginRows = (
  db: Db,
  { userId, familyId, token, secondFactor, reason, at }: Renewal,
) => db.one<{
  authEpoch: number
  mfa: boolean
  idleUntil: Date
}>`
  select * from renew_login(${userId}, ${familyId}, ${token.hash}, ${secondFactor}, ${reason}, ${at},
    make_interval(secs => ${token.idleSeconds}))`

export const findOwnAccount = (db: Db, id: string) => db.one<Me['user']>`
  select * from own_account(${id})`
