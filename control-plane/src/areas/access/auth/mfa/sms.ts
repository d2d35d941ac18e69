import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { requireSmsAllowed } from '../phone/login.ts'
import { enableSmsFactor } from '../phone/queries.ts'
import { requireSms } from '../phone/send.ts'
import { renewLogin } from '../session/renew.ts'
import { requireOwner } from '../session/service.ts'
import { findSecondFactor } from './queries.ts'
import { makeRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import type { EnabledMfa } from './schema.ts'
import { tellOwner } from './service.ts'

/**
 * Text messages become the second factor: the number was proved by a code already. A role that forces MFA still wants an
 * authenticator, which takes their place when it is set up.
 *
 * @throws ApiError 501, 403 SMS_MFA_FORBIDDEN, 409 where a factor is in force or no number is verified
 */
export async function enableSms(ctx: Ctx<unknown>): Promise<EnabledMfa> {
  const { db, ports } = ctx
  const user = await requireOwner(ctx)
  requireSms(ctx)
  await requireSmsAllowed(ctx, user.id)
  const recoveryCodes = makeRecoveryCodes()
  const hashes = recoveryCodes.map((code) => recoveryCodeHash(user.id, code))
  if (!(await enableSmsFactor(db, user.id, hashes, ports.clock.now()))) throw await cannot(ctx, user.id)
  ctx.audited({ type: 'user', id: user.id, name: user.email, details: { method: 'sms' } })
  await tellOwner(ctx, 'A text message is asked for at each login from now on')
  return { ...(await renewLogin(ctx, { reason: 'second factor', secondFactor: false })), recoveryCodes }
}

async function cannot({ db }: Ctx<unknown>, userId: string): Promise<ApiError> {
  const from = (await findSecondFactor(db, userId))?.mfaMethod
  return from
    ? new ApiError('CONFLICT', `${from} is in force: disable it first`, { details: [{ from, to: 'sms' }] })
    : new ApiError('CONFLICT', 'verify a telephone number first: POST /api/v1/auth/phone/verify', {
        details: [{ from: 'unverified', to: 'sms' }],
      })
}
