import { tokenHash } from '@svc/proto'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { findSecurity } from '../password/service.ts'
import { aboutUser, homeOf } from '../session/service.ts'
import { codeHash, codeLifeMs, makeCode, ownerOf } from './codes.ts'
import { findSmsChallenge, setChallengeCode, type SmsChallenge } from './queries.ts'
import type { SendSms } from './schema.ts'
import { requireSms, type Sending } from './send.ts'

type SendCtx = Ctx<Record<string, never>, unknown, SendSms>

/** A login that waits for a code, and where to send it. */
export interface Waiting {
  challenge: Buffer
  account: SmsChallenge
  phone: string
}

const gone = () => new ApiError('MFA_CODE_INVALID', 'the login is unknown, expired or used up: log in again')

/** Before the transaction. @throws ApiError 501, 401, 409 where the factor is another, 403 SMS_MFA_FORBIDDEN, 429 */
export async function findWaiting(ctx: SendCtx): Promise<Waiting> {
  const { db, ports, body } = ctx
  requireSms(ctx)
  const challenge = tokenHash(body.tempToken)
  const account = await findSmsChallenge(db, challenge, ports.clock.now())
  if (!account) throw gone()
  const phone = account.phoneNumber
  if (account.mfaMethod !== 'sms' || phone === null)
    throw new ApiError('CONFLICT', 'the second factor of this login is no text message', {
      details: [{ from: account.mfaMethod, to: 'sms' }],
    })
  await requireSmsAllowed(ctx, account.id)
  // Whoever's login it is: a number is not to be flooded.
  await ports.limits.hit('sms-number', { phone })
  return { challenge, account, phone }
}

/** @throws ApiError 403 where a tenant of the account forbids it (`settings.security.allowedMfaMethods.sms` false) */
export async function requireSmsAllowed({ db }: Pick<Ctx, 'db'>, userId: string): Promise<void> {
  const security = await findSecurity(db, userId)
  if (security && !security.smsAllowed)
    throw new ApiError('SMS_MFA_FORBIDDEN', 'organization does not allow SMS MFA')
}

/** A code for this login and no other; the one before it is void. */
export async function beginSmsLogin(ctx: SendCtx, { challenge, account, phone }: Waiting): Promise<Sending> {
  const { db, ports } = ctx
  const at = ports.clock.now()
  const code = makeCode()
  const hash = codeHash(ports.secrets, ownerOf.login(challenge), code)
  if (!(await setChallengeCode(db, challenge, hash, at, new Date(at.getTime() + codeLifeMs)))) throw gone()
  // Whoever sends the request, with whatever other login: the row is of the account's tenant.
  await ctx.establish(homeOf(account))
  ctx.audited({ ...aboutUser(account), details: { phoneLast4: phone.slice(-4) } })
  return { phone, code }
}
