import { tokenHash } from '@svc/proto'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import {
  acceptAwaited,
  answerWithoutLogin,
  demandsSso,
  homeAfter,
  noteAcceptance,
} from '../invite/acceptance.ts'
import { requireUser, ssoRequired, startSession } from '../session/service.ts'
import { type Proof, proofForLogin, proofForUser, useProof } from './proof.ts'
import { type Challenged, closeChallenge, findSecondFactor, tryChallenge } from './queries.ts'
import type { VerifiedMfa, VerifyMfa } from './schema.ts'
import { countTry, refuseCode, renewSession } from './service.ts'
import { confirmMfaSetup, type Fitting, fittingSetup } from './setup.ts'

/** Then the `tempToken` is burned. */
const triesPerChallenge = 5

type VerifyCtx = Ctx<Record<string, never>, unknown, VerifyMfa>

/** What a code that fits is for. */
type Checked =
  | { kind: 'login'; challenge: Buffer; account: Challenged; proof: Proof }
  | { kind: 'confirm'; fitting: Fitting }
  | { kind: 'renew'; proof: Proof }

/** Before the transaction, so that tries stay counted whatever comes. @throws ApiError 401 for a code that does not fit, 429 */
export const checkCode = (ctx: VerifyCtx): Promise<Checked> =>
  ctx.body.tempToken === undefined ? checkForCaller(ctx) : checkForLogin(ctx, ctx.body.tempToken)

/** Uses the code up, which exactly one of any number of requests with it can do, and does what it is for. */
export function acceptCode(ctx: VerifyCtx, checked: Checked): Promise<VerifiedMfa> {
  switch (checked.kind) {
    case 'login':
      return completeLogin(ctx, checked)
    case 'confirm':
      return confirm(ctx, checked.fitting)
    case 'renew':
      return renew(ctx, checked.proof)
  }
}

async function checkForLogin(ctx: VerifyCtx, tempToken: string): Promise<Checked> {
  const challenge = tokenHash(tempToken)
  const account = await tryChallenge(ctx.db, challenge, ctx.ports.clock.now(), triesPerChallenge)
  if (!account)
    throw new ApiError('MFA_CODE_INVALID', 'the login is unknown, expired or used up: log in again')
  await countTry(ctx, account.id)
  const proof = await proofForLogin(ctx.ports, account, challenge, ctx.body.code)
  if (!proof) throw refuseCode(ctx, 'user.login', account, 'wrong second factor')
  return { kind: 'login', challenge, account, proof }
}

async function checkForCaller(ctx: VerifyCtx): Promise<Checked> {
  if (ctx.caller.kind === 'nobody')
    throw new ApiError('UNAUTHENTICATED', 'a tempToken or an access token is needed')
  const user = requireUser(ctx)
  await countTry(ctx, user.id)
  const pending = await fittingSetup(ctx, user.id, ctx.body.code)
  if (pending?.step !== undefined) return { kind: 'confirm', fitting: pending }
  const factor = await findSecondFactor(ctx.db, user.id)
  if (!factor?.mfaMethod && !pending) {
    throw new ApiError('CONFLICT', 'no second factor is enrolled: begin with POST /api/v1/auth/mfa/setup')
  }
  const proof = await proofForUser(ctx, user.id, factor, ctx.body.code)
  if (!proof) throw refuseCode(ctx, 'auth.mfa.verify', user, 'wrong code')
  return { kind: 'renew', proof }
}

async function completeLogin(
  ctx: VerifyCtx,
  { account, challenge, proof }: Extract<Checked, { kind: 'login' }>,
): Promise<VerifiedMfa> {
  const fresh = (await useProof(ctx.db, account.id, proof)) && (await closeChallenge(ctx.db, challenge))
  if (!fresh) throw refuseCode(ctx, 'user.login', account, 'used or unknown second factor')
  // Five minutes are long enough to be removed in, or for a tenant to be suspended.
  const accepted = account.inviteHash && (await acceptAwaited(ctx, account, account.inviteHash))
  if (accepted && account.ssoProviderId === null && (await demandsSso(ctx, account)))
    return answerWithoutLogin(ctx, account, accepted)
  const holder = accepted ? { ...account, ...homeAfter(account, accepted) } : account
  const { ssoProviderId: providerId } = account
  const belongs = holder.partnerId !== null || (account.platformAdmin && providerId === null)
  if (holder.partnerId === null && account.demandedBy !== null) {
    refuseCode(ctx, 'user.login', account, 'single sign-on demanded')
    throw ssoRequired(ctx, account.demandedBy)
  }
  const sso = providerId === null ? undefined : { providerId, mfa: false, mfaAt: null }
  const pair = belongs && (await startSession(ctx, holder, true, sso))
  if (!pair) {
    refuseCode(ctx, 'user.login', account, belongs ? 'account not active' : 'no usable tenant')
    throw new ApiError('INVALID_CREDENTIALS', 'the account cannot log in')
  }
  if (accepted) noteAcceptance(ctx, account, accepted)
  const { id, email, name, avatarUrl } = account
  return { mfaRequired: false, user: { id, email, name, avatarUrl }, ...pair }
}

const confirm = async (ctx: VerifyCtx, fitting: Fitting): Promise<VerifiedMfa> => ({
  mfaRequired: false,
  ...(await confirmMfaSetup(ctx, fitting)),
})

async function renew(ctx: VerifyCtx, proof: Proof): Promise<VerifiedMfa> {
  const user = requireUser(ctx)
  if (!(await useProof(ctx.db, user.id, proof))) {
    throw refuseCode(ctx, 'auth.mfa.verify', user, 'used or unknown second factor')
  }
  ctx.audited({ action: 'auth.mfa.verify', type: 'user', id: user.id, name: user.email })
  return { mfaRequired: false, ...(await renewSession(ctx)) }
}
