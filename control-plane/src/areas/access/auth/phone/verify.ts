import { requireFreshMfa } from '../../../../kernel/access.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { findSecondFactor } from '../mfa/queries.ts'
import { countTry, refuseCode, tellOwner } from '../mfa/service.ts'
import { confirmPassword } from '../password/service.ts'
import { renewLogin } from '../session/renew.ts'
import { requireOwner, requireUser } from '../session/service.ts'
import { codeHash, codeLifeMs, fittingHash, makeCode, ownerOf, triesPerCode } from './codes.ts'
import { beginPhoneCheck, type SentCode, setPhone, tryPhoneCode, usePhoneCode } from './queries.ts'
import type { ConfirmedPhone, ConfirmPhone, VerifyPhone } from './schema.ts'
import { requireSms, type Sending } from './send.ts'

type VerifyCtx = Ctx<Record<string, never>, unknown, VerifyPhone>
type ConfirmCtx = Ctx<Record<string, never>, unknown, ConfirmPhone>

/**
 * Before the transaction. With a factor in force a new number needs it fresh; a code to the number in force changes nothing, and is
 * how its owner proves it again.
 *
 * @throws ApiError 501, 400, 403 MFA_REQUIRED, 401 for a wrong password, 429
 */
export async function checkNumber(ctx: VerifyCtx): Promise<void> {
  const { db, ports, body, caller } = ctx
  const { id } = await requireOwner(ctx)
  requireSms(ctx, body.phoneNumber)
  const factor = await findSecondFactor(db, id)
  const known = factor?.phoneVerified && factor.phoneNumber === body.phoneNumber
  if (factor?.mfaMethod && !known) requireFreshMfa(caller, ports.clock.now())
  await confirmPassword(ctx, body.currentPassword, 'auth.phone.verify')
  // Only now: who cannot prove who they are uses up nobody's messages.
  await ports.limits.hit('phone-user', { user: id })
  await ports.limits.hit('phone-number', { phone: body.phoneNumber })
  await ports.limits.hit('sms-number', { phone: body.phoneNumber })
}

/** The code replaces the one before it. */
export async function beginVerification(ctx: VerifyCtx): Promise<Sending> {
  const { db, ports, body } = ctx
  const { id, email } = requireUser(ctx)
  const code = makeCode()
  const phone = body.phoneNumber
  const hash = codeHash(ports.secrets, ownerOf.phone(id, phone), code)
  const until = new Date(ports.clock.now().getTime() + codeLifeMs)
  await beginPhoneCheck(db, { userId: id, phone, hash, until })
  ctx.audited({ type: 'user', id, name: email, details: { phoneLast4: phone.slice(-4) } })
  return { phone, code }
}

/** Before the transaction, so that tries stay counted whatever comes. @throws ApiError 401 for a code that does not fit, 429 */
export async function checkPhoneCode(ctx: ConfirmCtx): Promise<SentCode> {
  const { db, ports, body } = ctx
  // Since it was sent the account may have come to belong elsewhere, too.
  const user = await requireOwner(ctx)
  await countTry(ctx, user.id)
  const sent = await tryCode(ctx, user.id, body.code)
  if (!sent || (body.phoneNumber !== undefined && body.phoneNumber !== sent.phoneNumber))
    throw refuseCode(ctx, 'auth.phone.confirm', user, 'wrong code')
  const factor = await findSecondFactor(db, user.id)
  // The check may have begun before the factor was in force.
  if (factor?.mfaMethod && factor.phoneNumber !== sent.phoneNumber)
    requireFreshMfa(ctx.caller, ports.clock.now())
  return sent
}

/** What was sent, if this is its code. */
export async function tryCode(
  { db, ports }: Pick<Ctx, 'db' | 'ports'>,
  userId: string,
  code: string,
): Promise<SentCode | undefined> {
  const sent = await tryPhoneCode(db, userId, ports.clock.now(), triesPerCode)
  if (!sent) return undefined
  const owner = ownerOf.phone(userId, sent.phoneNumber)
  return fittingHash(ports.secrets, owner, { code, stored: sent.codeHash }) && sent
}

/** The number is the user's from now on. Where text messages are the factor in force, that is a change of it. */
export async function confirmPhone(ctx: ConfirmCtx, sent: SentCode): Promise<ConfirmedPhone> {
  const { db, ports } = ctx
  const user = requireUser(ctx)
  if (!(await usePhoneCode(db, user.id, sent.codeHash)))
    throw refuseCode(ctx, 'auth.phone.confirm', user, 'used code')
  const factor = await findSecondFactor(db, user.id)
  await setPhone(db, user.id, sent.phoneNumber, ports.clock.now())
  const phoneLast4 = sent.phoneNumber.slice(-4)
  ctx.audited({ type: 'user', id: user.id, name: user.email, details: { phoneLast4 } })
  const confirmed = { phoneVerified: true, phoneLast4 } as const
  if (factor?.mfaMethod !== 'sms' || factor.phoneNumber === sent.phoneNumber) return confirmed
  await tellOwner(ctx, 'The telephone number of your second factor was changed')
  return { ...confirmed, ...(await renewLogin(ctx, { reason: 'phone change', secondFactor: false })) }
}
