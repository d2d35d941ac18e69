import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { requireUser } from '../session/service.ts'
import { findPassword, findSecurity, type Security } from './queries.ts'
import { requireGoodPassword } from './policy.ts'

export { findSecurity, type Security } from './queries.ts'
export { NewPassword, requireGoodPassword } from './policy.ts'

/**
 * The caller is who the login says, not who found the screen unlocked. An account without a password is not asked for one.
 *
 * @param given undefined: none came
 * @param action what it is for, as the audit log tells of a wrong one
 * @returns the hash that it was checked against; null where the account has no password
 * @throws ApiError 400 where one is needed and none came, 401 for a wrong one, 429 after five of those
 */
export async function confirmPassword(
  ctx: Pick<Ctx, 'db' | 'ports' | 'caller' | 'refused'>,
  given: string | undefined,
  action: string,
): Promise<string | null> {
  const { db, ports } = ctx
  const user = requireUser(ctx)
  const hash = (await findPassword(db, user.id))?.hash ?? null
  if (hash === null) return null
  if (given === undefined) throw missing()
  // Counted before it is tried, so that parallel guesses cannot slip past.
  await ports.limits.hit('password-confirm', { user: user.id })
  if (!(await ports.passwords.verify(hash, given))) {
    ctx.refused({
      action,
      result: 'failure',
      type: 'user',
      id: user.id,
      name: user.email,
      ...membershipPlace(ctx),
      details: { reason: 'wrong password' },
    })
    throw new ApiError('INVALID_CREDENTIALS', 'the current password is wrong')
  }
  await ports.limits.refund('password-confirm', { user: user.id })
  return hash
}

/** The tenant that an audit row about the caller belongs to. */
export const membershipPlace = ({ caller }: Pick<Ctx, 'caller'>) => {
  const { membership } = caller
  if (!membership) return {}
  return membership.kind === 'partner'
    ? { partnerId: membership.id }
    : { partnerId: membership.partnerId, orgId: membership.id }
}

const missing = () =>
  new ApiError('VALIDATION_ERROR', 'the current password is needed', {
    details: [{ in: 'body', field: 'currentPassword', message: 'is missing' }],
  })

/**
 * The hash of a password that somebody chose, once it is found good by what their tenants ask for. Slow: before any transaction.
 *
 * @throws ApiError 400 WEAK_PASSWORD, 503 when too many passwords are being hashed
 */
export async function hashChosen(
  { db, ports }: Pick<Ctx, 'db' | 'ports'>,
  owner: { id: string; email: string; name?: string },
  password: string,
): Promise<string> {
  const security = await findSecurity(db, owner.id)
  return hashGood({ ports }, owner, password, security)
}

/** As {@link hashChosen}, where what the tenants ask for is known. */
export async function hashGood(
  { ports }: Pick<Ctx, 'ports'>,
  owner: { email: string; name?: string },
  password: string,
  security: Pick<Security, 'minLength' | 'tenants'> | undefined,
): Promise<string> {
  const known = [owner.email, owner.name ?? '', ...(security?.tenants ?? [])]
  await requireGoodPassword({ password, known, minLength: security?.minLength })
  return ports.passwords.hash(password)
}
