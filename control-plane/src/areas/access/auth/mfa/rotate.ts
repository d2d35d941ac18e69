import { requireFreshMfa } from '../../../../kernel/access.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { requireOwner, requireUser } from '../session/service.ts'
import { type Proof, proofForUser, useProof } from './proof.ts'
import { findSecondFactor, replaceRecoveryCodes } from './queries.ts'
import { makeRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import type { RecoveryCodes, RotateRecoveryCodes } from './schema.ts'
import { countTry, refuseCode, tellOwner } from './service.ts'

type RotateCtx = Ctx<Record<string, never>, unknown, RotateRecoveryCodes>

/**
 * Before the transaction. Undefined: no code came, and none is needed, since one was checked a moment ago.
 *
 * @throws ApiError 409 where there is no factor, 403 MFA_REQUIRED without a code and with no fresh factor, 401, 429
 */
export async function checkRotation(ctx: RotateCtx): Promise<Proof | undefined> {
  const user = await requireOwner(ctx)
  const factor = await findSecondFactor(ctx.db, user.id)
  if (!factor?.mfaMethod) throw noFactor()
  const code = ctx.body?.code
  if (code === undefined) {
    requireFreshMfa(ctx.caller, ctx.ports.clock.now())
    return undefined
  }
  await countTry(ctx, user.id)
  const proof = await proofForUser(ctx, user.id, factor, code)
  if (!proof) throw refuseCode(ctx, 'auth.mfa.recovery_codes.rotate', user, 'wrong code')
  return proof
}

/** Ten fresh codes, shown once; those before are void. */
export async function rotateRecoveryCodes(ctx: RotateCtx, proof: Proof | undefined): Promise<RecoveryCodes> {
  const { db, ports } = ctx
  const user = requireUser(ctx)
  if (proof && !(await useProof(db, user.id, proof)))
    throw refuseCode(ctx, 'auth.mfa.recovery_codes.rotate', user, 'used code')
  const recoveryCodes = makeRecoveryCodes()
  const hashes = recoveryCodes.map((code) => recoveryCodeHash(user.id, code))
  if (!(await replaceRecoveryCodes(db, user.id, hashes, ports.clock.now()))) throw noFactor()
  ctx.audited({ type: 'user', id: user.id, name: user.email })
  await tellOwner(ctx, 'The recovery codes were replaced')
  return { recoveryCodes }
}

const noFactor = () => new ApiError('CONFLICT', 'no second factor is in force')
