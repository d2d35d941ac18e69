import { queueMail } from '../../../../engines/mail/queue.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { methodsOf, requireUser } from '../session/service.ts'
import { renewSecondFactor } from './queries.ts'

type AnyCtx = Ctx<unknown>

/** Counts a try before it is made, so that parallel ones cannot slip past; given back when it succeeds. */
export async function countTry(
  { ports, after }: Pick<AnyCtx, 'ports' | 'after'>,
  userId: string,
): Promise<void> {
  await ports.limits.hit('mfa-user', { user: userId })
  after(() => ports.limits.refund('mfa-user', { user: userId }))
}

/** The refusal of a code, audited as such. */
export function refuseCode(
  ctx: Pick<AnyCtx, 'refused'>,
  action:
    | 'user.login'
    | 'auth.mfa.verify'
    | 'auth.mfa.setup'
    | 'auth.mfa.disable'
    | 'auth.mfa.recovery_codes.rotate'
    | 'auth.phone.confirm',
  user: { id: string; email: string; partnerId?: string | null; orgId?: string | null },
  reason: string,
): ApiError {
  ctx.refused({
    action,
    result: 'failure',
    type: 'user',
    id: user.id,
    name: user.email,
    ...(user.partnerId && { partnerId: user.partnerId }),
    ...(user.orgId && { orgId: user.orgId }),
    details: { reason },
  })
  return new ApiError('MFA_CODE_INVALID', 'the code is wrong, used or expired')
}

/** Whoever reads the mailbox hears of a change of the factor, whoever made it. */
export async function tellOwner(ctx: AnyCtx, what: string): Promise<void> {
  const { email } = requireUser(ctx)
  const at = ctx.ports.clock.now()
  await queueMail(ctx, { to: { name: '', email }, kind: 'factor-changed', data: { at, what } })
}

/** The second factor was checked in this login just now: says so in the session, and in an access token that replaces the caller's. */
export async function renewSession(ctx: AnyCtx): Promise<{ accessToken: string; expiresInSeconds: number }> {
  const { db, ports, caller } = ctx
  const { id, sessionId } = requireUser(ctx)
  const standing = await ports.callers.find(id)
  if (!standing || !(await renewSecondFactor(db, id, sessionId, ports.clock.now()))) {
    throw new ApiError('UNAUTHENTICATED', 'the login has ended')
  }
  ctx.after(() => ports.callers.changed(id))
  const { authEpoch } = standing
  const membership = caller.membership ?? null
  const issued = await ports.tokens.issue({
    userId: id,
    sessionId,
    authEpoch,
    mfa: true,
    amr: methodsOf(true, caller.sso),
    membership,
    sso: caller.sso,
  })
  return { accessToken: issued.accessToken, expiresInSeconds: issued.expiresInSeconds }
}
