import { setTimeout as delay } from 'node:timers/promises'
import { tokenHash } from '@svc/proto'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { withinLimit } from '../../../../kernel/limits.ts'
import { aboutUser, newToken, startSession } from '../session/service.ts'
import { findLoginAccount, type LoginAccount, openChallenge, upgradePasswordHash } from './queries.ts'
import type { Login, LoginAnswer } from './schema.ts'

/** An account that many guess at from many places is not locked, which anybody could do to anybody: it gets slow. */
const slowedMs = 2_000
/** interface §Time-boxed intermediate states */
const challengeMs = 5 * 60_000

type LoginCtx = Ctx<Record<string, never>, unknown, Login>

/** Whose password was right, and its hash under today's parameters if it was an old one. */
export interface Proven {
  account: LoginAccount
  betterHash: string | undefined
}

/**
 * Checks e-mail and password, before any transaction. Takes as long for an unknown account, and says the same for an unknown,
 * disabled, invited or suspended one as for a wrong password; the audit log knows which it was.
 *
 * @throws ApiError 401, 403 for a user who belongs to nothing, 503 when too many passwords are being checked
 */
export async function checkPassword(ctx: LoginCtx): Promise<Proven> {
  const { db, body, ports } = ctx
  await slowDown(ctx)
  const account = await findLoginAccount(db, body.email)
  const right = await ports.passwords.verify(account?.passwordHash, body.password)
  const reason = refusalReason(account, right)
  if (!account || reason) throw await refuse(ctx, account, reason ?? 'unknown account')
  const stored = account.passwordHash
  const outdated = stored !== null && ports.passwords.outdated(stored)
  return { account, betterHash: outdated ? await ports.passwords.hash(body.password) : undefined }
}

/** The session, or the question for the second factor; that one is no login yet, so it leaves no audit row. */
export async function completeLogin(
  ctx: Ctx<unknown>,
  { account, betterHash }: Proven,
): Promise<LoginAnswer> {
  const { db, ports } = ctx
  if (betterHash !== undefined) await upgradePasswordHash(db, account, betterHash)
  if (account.mfaMethod !== null && ports.config.enable2fa)
    return askForSecondFactor(ctx, account.id, account.mfaMethod)
  const pair = await startSession(ctx, account, false)
  if (!pair) throw wrong()
  const { id, email, name, avatarUrl } = account
  return { mfaRequired: false, user: { id, email, name, avatarUrl }, ...pair }
}

async function askForSecondFactor(
  ctx: Ctx<unknown>,
  userId: string,
  mfaMethod: 'totp' | 'sms',
): Promise<LoginAnswer> {
  const at = ctx.ports.clock.now()
  const tempToken = newToken('svct')
  await openChallenge(ctx.db, userId, tokenHash(tempToken), at, new Date(at.getTime() + challengeMs))
  ctx.audited('none')
  return { mfaRequired: true, tempToken, mfaMethod }
}

type Reason =
  | 'unknown account'
  | 'wrong password'
  | 'account not active'
  | 'no association'
  | 'tenant not active'

function refusalReason(account: LoginAccount | undefined, right: boolean): Reason | undefined {
  if (!account) return 'unknown account'
  if (!right) return 'wrong password'
  if (account.status !== 'active') return 'account not active'
  if (account.partnerId !== null || account.platformAdmin) return undefined
  return account.associated ? 'tenant not active' : 'no association'
}

const wrong = () => new ApiError('INVALID_CREDENTIALS', 'e-mail or password is wrong')

async function refuse(ctx: LoginCtx, account: LoginAccount | undefined, reason: Reason): Promise<ApiError> {
  const about = account ? aboutUser(account) : { type: 'user', name: ctx.body.email }
  ctx.refused({ action: 'user.login', result: 'failure', ...about, details: { reason } })
  await withinLimit(ctx.ports.limits.hit('login-account', { email: ctx.body.email }))
  // Only who knows the password learns this much.
  if (reason === 'no association') {
    return new ApiError('CONTEXT_REQUIRED', 'partner or organization context required')
  }
  return wrong()
}

async function slowDown({ body, ports }: LoginCtx): Promise<void> {
  const fast = await withinLimit(ports.limits.check('login-account', { email: body.email }))
  if (!fast) await delay(slowedMs)
}
