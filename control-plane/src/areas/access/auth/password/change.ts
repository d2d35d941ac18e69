import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { queueMail } from '../../../../engines/mail/queue.ts'
import { findOwnAccount } from '../session/queries.ts'
import { renewLogin } from '../session/renew.ts'
import type { TokenPair } from '../session/schema.ts'
import { requireOwner, requirePasswordHome, requireUser } from '../session/service.ts'
import { changePasswordHash } from './queries.ts'
import type { ChangePassword } from './schema.ts'
import { confirmPassword, hashChosen } from './service.ts'

type ChangeCtx = Ctx<Record<string, never>, unknown, ChangePassword>

/** The hash that the current password was checked against, and the new one's. */
export interface Hashes {
  checked: string
  hash: string
}

/**
 * Before the transaction.
 *
 * @throws ApiError 401, 429, 400 WEAK_PASSWORD, 403 SSO_REQUIRED where a password opens nothing, 409 for an account without one
 */
export async function checkChange(ctx: ChangeCtx): Promise<Hashes> {
  const { id } = await requireOwner(ctx)
  await requirePasswordHome(ctx, id)
  const checked = await confirmPassword(ctx, ctx.body.currentPassword, 'user.password.change')
  if (checked === null) throw new ApiError('CONFLICT', 'the account has no password to change')
  const account = await findOwnAccount(ctx.db, id)
  if (!account) throw new ApiError('UNAUTHENTICATED', 'the login has ended')
  return { checked, hash: await hashChosen(ctx, account, ctx.body.newPassword) }
}

/** All tokens die, the caller's too (interface §Authentication 9); the answer holds the pair that this login goes on with. */
export async function changePassword(ctx: ChangeCtx, { checked, hash }: Hashes): Promise<TokenPair> {
  const { db, ports } = ctx
  const { id, email } = requireUser(ctx)
  const at = ports.clock.now()
  if (!(await changePasswordHash(db, id, checked, hash, at)))
    throw new ApiError('INVALID_CREDENTIALS', 'the current password is wrong')
  const account = await findOwnAccount(db, id)
  await queueMail(ctx, { to: { name: account?.name ?? '', email }, kind: 'password-changed', data: { at } })
  ctx.audited({ type: 'user', id, name: email })
  return renewLogin(ctx, { reason: 'password change', secondFactor: false })
}
