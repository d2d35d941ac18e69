import { tokenHash } from '@svc/proto'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { setRefreshCookie } from './cookies.ts'
import { renewLoginRows } from './queries.ts'
import type { TokenPair } from './schema.ts'
import { idleMs, methodsOf, newToken, requireUser, secondsUntil } from './service.ts'

/**
 * After a change of password or factor: every token of the user is dead with the commit, those of this login too; it goes on with
 * the pair that comes back, no longer than it would have. Cookies are set as at a login.
 *
 * @param how `secondFactor`: one was checked in this request; false keeps what the login knows of it
 * @throws ApiError 401 when this login has ended meanwhile; nothing may be committed then
 */
export async function renewLogin(
  ctx: Ctx<unknown>,
  how: { reason: string; secondFactor: boolean },
): Promise<TokenPair> {
  const { db, ports, caller } = ctx
  const { id, sessionId } = requireUser(ctx)
  const at = ports.clock.now()
  const refreshToken = newToken('svcr')
  const token = { hash: tokenHash(refreshToken), idleSeconds: idleMs / 1_000 }
  const renewed = await renewLoginRows(db, { userId: id, familyId: sessionId, token, at, ...how })
  if (!renewed) throw new ApiError('UNAUTHENTICATED', 'the login has ended')
  const { accessToken, expiresInSeconds } = await ports.tokens.issue({
    userId: id,
    sessionId,
    authEpoch: renewed.authEpoch,
    mfa: renewed.mfa,
    amr: methodsOf(renewed.mfa, caller.sso),
    membership: caller.membership ?? null,
    sso: caller.sso,
  })
  ctx.after(() => ports.callers.changed(id))
  setRefreshCookie(ctx, refreshToken, secondsUntil(renewed.idleUntil, at))
  return { accessToken, refreshToken, expiresInSeconds }
}
