import type { SecretPlace } from '../../../../adapters/secrets.ts'
import type { Ports } from '../../../../kernel/ports.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { useRecoveryCode, useTotpStep } from './queries.ts'
import { isRecoveryCode, recoveryCodeHash } from './recovery-codes.ts'

/** A code that fits; it counts only once {@link useProof} has used it up. */
export type Proof = { step: number } | { recoveryHash: Buffer }

/** Where a TOTP secret lives. One that is not confirmed yet is sealed for the same place, since it moves there as it is. */
export const totpPlace = (userId: string): SecretPlace => ({
  table: 'users',
  column: 'totp_secret',
  row: userId,
  org: null,
})

/** The time step of a code under a sealed secret, or undefined when it is wrong. */
export async function stepOf(
  { secrets, totp }: Ports,
  userId: string,
  sealed: Buffer | null,
  code: string,
): Promise<number | undefined> {
  if (!sealed) return undefined
  return totp.stepOf(secrets.open(sealed, totpPlace(userId)).toString(), code)
}

/** A recovery code is looked up when it is used: what fits is told by whether it was there. */
export async function proofOf(
  ports: Ports,
  userId: string,
  sealed: Buffer | null,
  code: string,
): Promise<Proof | undefined> {
  if (isRecoveryCode(code)) return { recoveryHash: recoveryCodeHash(userId, code) }
  const step = await stepOf(ports, userId, sealed, code)
  return step === undefined ? undefined : { step }
}

/** True for exactly one of any number of uses of a code, in parallel or later (RFC 6238 §5.2). */
export const useProof = (db: Db, userId: string, proof: Proof): Promise<boolean> =>
  'step' in proof ? useTotpStep(db, userId, proof.step) : useRecoveryCode(db, userId, proof.recoveryHash)
