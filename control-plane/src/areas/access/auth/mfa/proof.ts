import { SecretError, type SecretPlace } from '../../../../adapters/secrets.ts'
import type { Ports } from '../../../../kernel/ports.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { fittingHash, ownerOf } from '../phone/codes.ts'
import { usePhoneCode } from '../phone/queries.ts'
import { tryCode } from '../phone/verify.ts'
import { type Challenged, type SecondFactor, useRecoveryCode, useTotpStep } from './queries.ts'
import { isRecoveryCode, recoveryCodeHash } from './recovery-codes.ts'

/** A code that fits; it counts only once {@link useProof} has used it up. One that was sent for a login ends with that login. */
export type Proof = { step: number } | { recoveryHash: Buffer } | { phoneHash: Buffer } | { loginCode: true }

/** Where a TOTP secret lives. One that is not confirmed yet is sealed for the same place, since it moves there as it is. */
export const totpPlace = (userId: string): SecretPlace => ({
  table: 'users',
  column: 'totp_secret',
  row: userId,
  org: null,
})

/**
 * The time step of a code under a sealed secret, or undefined when it is wrong. A secret that does not open fits no code: the operator
 * is told by whoever opens it, and the user has recovery codes.
 */
export async function stepOf(
  { secrets, totp }: Ports,
  userId: string,
  sealed: Buffer | null,
  code: string,
): Promise<number | undefined> {
  if (!sealed) return undefined
  try {
    return await totp.stepOf(secrets.open(sealed, totpPlace(userId)).toString(), code)
  } catch (error) {
    if (error instanceof SecretError) return undefined
    throw error
  }
}

/**
 * What completes a login: a code of the authenticator, one that was sent for this very login, or a recovery code, which is looked
 * up when it is used: what fits is told by whether it was there.
 */
export async function proofForLogin(
  ports: Ports,
  { id, totpSecret, smsCodeHash }: Challenged,
  challenge: Buffer,
  code: string,
): Promise<Proof | undefined> {
  if (isRecoveryCode(code)) return { recoveryHash: recoveryCodeHash(id, code) }
  const step = await stepOf(ports, id, totpSecret, code)
  if (step !== undefined) return { step }
  if (!smsCodeHash) return undefined
  const sent = fittingHash(ports.secrets, ownerOf.login(challenge), { code, stored: smsCodeHash })
  return sent && { loginCode: true }
}

/** What a user who is logged in proves the factor in force with; a text message is one to the number in force. */
export async function proofForUser(
  ctx: { db: Db; ports: Ports },
  userId: string,
  factor: SecondFactor | undefined,
  code: string,
): Promise<Proof | undefined> {
  if (!factor?.mfaMethod) return undefined
  if (isRecoveryCode(code)) return { recoveryHash: recoveryCodeHash(userId, code) }
  if (factor.mfaMethod === 'totp') {
    const step = await stepOf(ctx.ports, userId, factor.totpSecret, code)
    return step === undefined ? undefined : { step }
  }
  const sent = await tryCode(ctx, userId, code)
  return sent && sent.phoneNumber === factor.phoneNumber ? { phoneHash: sent.codeHash } : undefined
}

/** True for exactly one of any number of uses of a code, in parallel or later (RFC 6238 §5.2). */
export async function useProof(db: Db, userId: string, proof: Proof): Promise<boolean> {
  if ('step' in proof) return useTotpStep(db, userId, proof.step)
  if ('recoveryHash' in proof) return useRecoveryCode(db, userId, proof.recoveryHash)
  if ('phoneHash' in proof) return usePhoneCode(db, userId, proof.phoneHash)
  return true
}
