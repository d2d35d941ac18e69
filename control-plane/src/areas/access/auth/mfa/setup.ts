import { toDataURL } from 'qrcode'
import { SecretError, type SecretPlace } from '../../../../adapters/secrets.ts'
import { requireFreshMfa } from '../../../../kernel/access.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { renewLogin } from '../session/renew.ts'
import { requireOwner, requireUser } from '../session/service.ts'
import { stepOf, totpPlace } from './proof.ts'
import { beginSetup, confirmSetup, findPendingSetup, findSecondFactor, type PendingSetup } from './queries.ts'
import { makeRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import type { MfaSetup } from './schema.ts'
import { countTry, refuseCode, tellOwner } from './service.ts'

/** interface §Time-boxed intermediate states */
const setupMs = 10 * 60_000

const codesPlace = (userId: string): SecretPlace => ({
  table: 'mfa_setups',
  column: 'recovery_codes',
  row: userId,
  org: null,
})

/**
 * A new secret and ten recovery codes, in force once a code confirms them.
 *
 * @throws ApiError 403 MFA_REQUIRED where there is a factor already that was not checked within ten minutes
 */
export async function beginMfaSetup(ctx: Ctx<unknown>): Promise<MfaSetup> {
  const { db, ports, caller } = ctx
  const { id, email } = await requireOwner(ctx)
  const now = ports.clock.now()
  const existing = await findSecondFactor(db, id)
  if (existing?.mfaMethod) requireFreshMfa(caller, now)
  const secret = ports.totp.secret()
  const recoveryCodes = makeRecoveryCodes()
  await beginSetup(db, id, {
    secret: ports.secrets.seal(secret, totpPlace(id)),
    recoveryCodes: ports.secrets.seal(JSON.stringify(recoveryCodes), codesPlace(id)),
    codeHashes: recoveryCodes.map((code) => recoveryCodeHash(id, code)),
    until: new Date(now.getTime() + setupMs),
  })
  const otpAuthUrl = ports.totp.uri(secret, email)
  return { secret, otpAuthUrl, qrCodeDataUrl: await toDataURL(otpAuthUrl), recoveryCodes }
}

/** A pending set-up and the time step of a code that fits it. */
export interface Fitting {
  setup: PendingSetup
  step: number
}

/** Undefined: nothing is pending. `step` undefined: the code does not fit. */
export async function fittingSetup(
  { db, ports }: Pick<Ctx, 'db' | 'ports'>,
  userId: string,
  code: string,
): Promise<Fitting | { step?: undefined } | undefined> {
  const setup = await findPendingSetup(db, userId, ports.clock.now())
  if (!setup) return undefined
  const step = await stepOf(ports, userId, setup.secret, code)
  return step === undefined ? {} : { setup, step }
}

/** Before the transaction. @throws ApiError 409 when no set-up is pending, 401 for a wrong code */
export async function checkSetupCode(ctx: Ctx<unknown, unknown, { code: string }>): Promise<Fitting> {
  const { id } = requireUser(ctx)
  await countTry(ctx, id)
  const fitting = await fittingSetup(ctx, id, ctx.body.code)
  if (!fitting) throw nothingPending()
  if (fitting.step === undefined) throw refuseCode(ctx, 'auth.mfa.setup', requireUser(ctx), 'wrong code')
  return fitting
}

/** The pending secret is the user's from now on; other logins end, and this one goes on with a new pair. Shows the recovery codes again: those of the set-up, not new ones. */
export async function confirmMfaSetup(ctx: Ctx<unknown>, { setup, step }: Fitting) {
  // Since it was begun the account may have come to belong elsewhere, too.
  const user = await requireOwner(ctx)
  const recoveryCodes = codesOf(ctx, user.id, setup)
  const confirmed = await confirmSetup(ctx.db, user.id, setup, step, ctx.ports.clock.now())
  if (!confirmed) throw nothingPending()
  ctx.audited({
    action: 'auth.mfa.setup',
    type: 'user',
    id: user.id,
    name: user.email,
    details: { method: 'totp' },
  })
  await tellOwner(ctx, 'An authenticator is asked for at each login from now on')
  return { ...(await renewLogin(ctx, { reason: 'second factor', secondFactor: true })), recoveryCodes }
}

/** Codes that do not open are as good as none: the operator is told, and the user begins anew. */
function codesOf({ ports }: Pick<Ctx, 'ports'>, userId: string, setup: PendingSetup): string[] {
  try {
    return JSON.parse(ports.secrets.open(setup.recoveryCodes, codesPlace(userId)).toString()) as string[]
  } catch (error) {
    if (error instanceof SecretError) throw nothingPending()
    throw error
  }
}

const nothingPending = () =>
  new ApiError('CONFLICT', 'no MFA set-up is pending: begin with POST /api/v1/auth/mfa/setup', {
    details: [{ from: 'none', to: 'enabled' }],
  })
