import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { findSecurity } from '../password/service.ts'
import { renewLogin } from '../session/renew.ts'
import type { TokenPair } from '../session/schema.ts'
import { requireOwner, requireUser } from '../session/service.ts'
import { type Proof, proofForUser, useProof } from './proof.ts'
import { disableSecondFactor, findSecondFactor } from './queries.ts'
import type { DisableMfa } from './schema.ts'
import { countTry, refuseCode, tellOwner } from './service.ts'

type DisableCtx = Ctx<Record<string, never>, unknown, DisableMfa>

/** Before the transaction. @throws ApiError 409 where there is no factor, 403 where one is demanded, 401 for a wrong code, 429 */
export async function checkDisabling(ctx: DisableCtx): Promise<Proof> {
  const user = await requireOwner(ctx)
  const factor = await findSecondFactor(ctx.db, user.id)
  if (!factor?.mfaMethod) throw noFactor('none')
  await requireOptional(ctx, user.id)
  await countTry(ctx, user.id)
  const proof = await proofForUser(ctx, user.id, factor, ctx.body.code)
  if (!proof) throw refuseCode(ctx, 'auth.mfa.disable', user, 'wrong code')
  return proof
}

/** Of all memberships, not just that of this login: the factor is the account's. */
async function requireOptional({ db, ports }: DisableCtx, userId: string): Promise<void> {
  const [security, standing] = await Promise.all([findSecurity(db, userId), ports.callers.find(userId)])
  const byRole = ports.config.enable2fa && standing?.memberships.some(({ forceMfa }) => forceMfa)
  if (!standing || byRole || security?.requireMfa !== false)
    throw new ApiError('MFA_MANDATORY', 'MFA cannot be disabled: the organization requires it')
}

/** Other logins end; this one goes on with the pair of the answer. */
export async function disableMfa(ctx: DisableCtx, proof: Proof): Promise<TokenPair> {
  const { db, ports } = ctx
  const user = requireUser(ctx)
  if (!(await useProof(db, user.id, proof))) throw refuseCode(ctx, 'auth.mfa.disable', user, 'used code')
  if (!(await disableSecondFactor(db, user.id, ports.clock.now()))) throw noFactor('none')
  ctx.audited({ type: 'user', id: user.id, name: user.email })
  await tellOwner(ctx, 'No second factor is asked for any more')
  return renewLogin(ctx, { reason: 'second factor', secondFactor: true })
}

const noFactor = (from: string) =>
  new ApiError('CONFLICT', 'no second factor is in force', { details: [{ from, to: 'none' }] })
