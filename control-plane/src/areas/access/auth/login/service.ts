import { setTimeout as delay } from 'node:timers/promises'
import { tokenHash } from '@svc/proto'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { withinLimit } from '../../../../kernel/limits.ts'
import {
  aboutUser,
  type Holder,
  newToken,
  type SsoSession,
  ssoRequired,
  startSession,
} from '../session/service.ts'
import {
  awaitInvitation,
  findLoginAccount,
  type LoginAccount,
  markSsoChallenge,
  openChallenge,
  upgradePasswordHash,
} from './queries.ts'
import type { Login, LoginAnswer } from './schema.ts'

export { findLoginAccount } from './queries.ts'

/** An account that many guess at from many places is not locked, which anybody could do to anybody: it gets slow. */
const slowedMs = 2_000
/** interface §Time-boxed intermediate states */
const challengeMs = 5 * 60_000

type LoginCtx = Ctx<Record<string, never>, unknown, Login>
type AnyCtx = Pick<Ctx, 'db' | 'ports' | 'refused'>

/** Whose password was right, and its hash under today's parameters if it was an old one. */
export interface Proven {
  account: LoginAccount
  betterHash: string | undefined
}

/**
 * Checks e-mail and password, before any transaction. Takes as long for an unknown account, and says the same for an unknown,
 * disabled, invited or suspended one as for a wrong password; the audit log knows which it was.
 *
 * @throws ApiError 401, 403 for a user who belongs to nothing, or to what demands single sign-on alone, 503 when too many passwords are being checked
 */
export const checkPassword = (ctx: LoginCtx): Promise<Proven> => checkCredentials(ctx, ctx.body)

/** As {@link checkPassword}, for whatever asks for both. @param homeless an account of no usable tenant will do */
export async function checkCredentials(ctx: AnyCtx, body: Login, homeless = false): Promise<Proven> {
  const { db, ports } = ctx
  await slowDown(ctx, body)
  const account = await findLoginAccount(db, body.email)
  const right = await ports.passwords.verify(account?.passwordHash, body.password)
  const reason = refusalReason(account, right, homeless)
  if (!account || reason) throw await refuse(ctx, body, account, reason ?? 'unknown account')
  const stored = account.passwordHash
  const outdated = stored !== null && ports.passwords.outdated(stored)
  return { account, betterHash: outdated ? await ports.passwords.hash(body.password) : undefined }
}

/** The session, or the question for the second factor; that one is no login yet, so it leaves no audit row. */
export async function completeLogin(
  ctx: Ctx<unknown>,
  { account, betterHash }: Proven,
): Promise<LoginAnswer> {
  if (account.partnerId === null && account.demandedBy !== null) throw ssoRequired(ctx, account.demandedBy)
  if (betterHash !== undefined) await upgradePasswordHash(ctx.db, account, betterHash)
  const mfaMethod = secondFactorOf(ctx, account)
  if (mfaMethod !== null) return askForSecondFactor(ctx, account, mfaMethod)
  const pair = await startSession(ctx, account, false)
  if (!pair) throw wrong()
  const { id, email, name, avatarUrl } = account
  return { mfaRequired: false, user: { id, email, name, avatarUrl }, ...pair }
}

/** Whom an identity provider has shown to be a member of its organization, which `account` names. */
export interface SsoHolder extends Holder {
  mfaMethod: 'totp' | 'sms' | null
}

/**
 * As {@link completeLogin}, for a login through a provider. A second factor of the account is asked for, unless the provider checked
 * one and is trusted for it.
 *
 * @throws ApiError 401 when the account was disabled or logged out since it was looked up, or its provider was
 */
export async function completeSsoLogin(
  ctx: Ctx<unknown>,
  account: SsoHolder,
  sso: SsoSession,
): Promise<LoginAnswer> {
  const { id, email, name, avatarUrl } = account
  const needed = sso.mfa ? null : secondFactorOf(ctx, account)
  if (needed !== null) return askForSecondFactor(ctx, account, needed, { ssoProviderId: sso.providerId })
  const pair = await startSession(ctx, account, sso.mfa, sso)
  if (!pair) throw new ApiError('INVALID_CREDENTIALS', 'the account cannot log in')
  return { mfaRequired: false, user: { id, email, name, avatarUrl }, ...pair }
}

/** What a login of this account still needs; null: nothing. */
export const secondFactorOf = (
  { ports }: Pick<Ctx, 'ports'>,
  { mfaMethod }: Pick<LoginAccount, 'mfaMethod'>,
): LoginAccount['mfaMethod'] => (ports.config.enable2fa ? mfaMethod : null)

/** @param more `invite`: the hash of a link: with the code its invitation is accepted too; `ssoProviderId`: the login came through it */
export async function askForSecondFactor(
  ctx: Ctx<unknown>,
  account: Pick<Holder, 'id' | 'authEpoch'>,
  mfaMethod: 'totp' | 'sms',
  more: { invite?: Buffer; ssoProviderId?: string } = {},
): Promise<LoginAnswer> {
  const at = ctx.ports.clock.now()
  const tempToken = newToken('svct')
  const until = new Date(at.getTime() + challengeMs)
  const challenge = tokenHash(tempToken)
  if (!(await openChallenge(ctx.db, account, challenge, at, until))) throw wrong()
  if (more.invite) await awaitInvitation(ctx.db, challenge, more.invite)
  if (more.ssoProviderId !== undefined) await markSsoChallenge(ctx.db, challenge, more.ssoProviderId)
  ctx.audited('none')
  return { mfaRequired: true, tempToken, mfaMethod }
}

type Reason =
  | 'unknown account'
  | 'wrong password'
  | 'account not active'
  | 'no association'
  | 'tenant not active'
  | 'single sign-on demanded'

function refusalReason(
  account: LoginAccount | undefined,
  right: boolean,
  homeless: boolean,
): Reason | undefined {
  if (!account) return 'unknown account'
  if (!right) return 'wrong password'
  if (account.status !== 'active') return 'account not active'
  if (homeless || account.partnerId !== null || account.platformAdmin) return undefined
  if (account.demandedBy !== null) return 'single sign-on demanded'
  return account.associated ? 'tenant not active' : 'no association'
}

const wrong = () => new ApiError('INVALID_CREDENTIALS', 'e-mail or password is wrong')

async function refuse(
  ctx: AnyCtx,
  { email }: Login,
  account: LoginAccount | undefined,
  reason: Reason,
): Promise<ApiError> {
  const about = account ? aboutUser(account) : { type: 'user', name: email }
  ctx.refused({ action: 'user.login', result: 'failure', ...about, details: { reason } })
  await withinLimit(ctx.ports.limits.hit('login-account', { email }))
  // Only who knows the password learns this much.
  if (reason === 'no association') {
    return new ApiError('CONTEXT_REQUIRED', 'partner or organization context required')
  }
  if (reason === 'single sign-on demanded' && account?.demandedBy) return ssoRequired(ctx, account.demandedBy)
  return wrong()
}

async function slowDown({ ports }: AnyCtx, { email }: Login): Promise<void> {
  const fast = await withinLimit(ports.limits.check('login-account', { email }))
  if (!fast) await delay(slowedMs)
}
