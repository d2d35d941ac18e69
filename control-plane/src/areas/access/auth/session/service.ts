import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import type { AccessClaims } from '../../../../adapters/tokens.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { Scope } from '../../../../kernel/tenancy.ts'
import { clearRefreshCookie, setRefreshCookie } from './cookies.ts'
import { endSessions, findOwnAccount, type Holder, openSession } from './queries.ts'
import type { Me, TokenPair } from './schema.ts'

const dayMs = 86_400_000
/** A session that nobody uses, and one that is used all the time. */
export const idleMs = 7 * dayMs
const absoluteMs = 30 * dayMs

/** 256 random bits, opaque; only the SHA-256 is stored. The prefix tells leak scanners what they found. */
export const newToken = (prefix: 'svcr' | 'svct' | 'svcl'): string =>
  `${prefix}_${randomBytes(32).toString('base64url')}`

/** Until when an unused token of a session lives that ends at `until` at the latest. */
export const idleEnd = (at: Date, until: Date): Date =>
  new Date(Math.min(at.getTime() + idleMs, until.getTime()))

export const secondsUntil = (end: Date, at: Date): number =>
  Math.floor((end.getTime() - at.getTime()) / 1_000)

type Home = { partnerId: string | null; orgId: string | null }

/** The membership that a login is for. None: a platform administrator who belongs to no tenant. */
export function membershipOf({ partnerId, orgId }: Home): AccessClaims['membership'] {
  if (partnerId === null) return null
  return orgId === null ? { kind: 'partner', id: partnerId } : { kind: 'organization', id: orgId, partnerId }
}

/** RFC 8176. */
export const methodsOf = (mfa: boolean): string[] => (mfa ? ['pwd', 'otp', 'mfa'] : ['pwd'])

function scopeOf({ partnerId, orgId }: Home): Scope {
  if (partnerId === null) return { kind: 'system' }
  return { kind: 'tenant', partnerId, orgs: orgId === null ? 'all' : [orgId] }
}

/** The tenant that a login of this account would be for; nobody's where it belongs to none. */
export const homeOf = (home: Home): Scope => (home.partnerId === null ? { kind: 'nobody' } : scopeOf(home))

/** The subject of an audit row about a user's own account. */
export const aboutUser = ({ id, email, partnerId, orgId }: Pick<Holder, 'id' | 'email'> & Home) => ({
  type: 'user',
  id,
  name: email,
  ...(partnerId !== null && { partnerId }),
  ...(orgId !== null && { orgId }),
})

/**
 * A login is complete: opens the session, sets the cookies, audits it as the user's own act.
 *
 * @param mfa a second factor was checked in this login
 * @returns undefined when the account was disabled or logged out since it was looked up
 */
export async function startSession(
  ctx: Ctx<unknown>,
  holder: Holder,
  mfa: boolean,
): Promise<TokenPair | undefined> {
  const { ports } = ctx
  const at = ports.clock.now()
  const until = new Date(at.getTime() + absoluteMs)
  const refreshToken = newToken('svcr')
  const familyId = uuid()
  const idleUntil = idleEnd(at, until)
  const session = { familyId, tokenHash: tokenHash(refreshToken), mfa, at, idleUntil, until }
  if (!(await openSession(ctx.db, holder, session))) return undefined
  const { accessToken, expiresInSeconds } = await ports.tokens.issue({
    userId: holder.id,
    sessionId: familyId,
    authEpoch: holder.authEpoch,
    mfa,
    amr: methodsOf(mfa),
    membership: membershipOf(holder),
  })
  await ctx.establish(scopeOf(holder))
  const actor = { type: 'user', id: holder.id, email: holder.email } as const
  ctx.audited({ ...aboutUser(holder), actor, details: { mfa } })
  ctx.after(() => ports.callers.changed(holder.id))
  setRefreshCookie(ctx, refreshToken, secondsUntil(idleUntil, at))
  return { accessToken, refreshToken, expiresInSeconds }
}

/** The person who calls. An API key is nobody's session. @throws ApiError 403 */
export function requireUser({ caller }: Pick<Ctx, 'caller'>): {
  id: string
  email: string
  sessionId: string
} {
  if (caller.actor.type === 'user' && caller.sessionId)
    return { ...caller.actor, sessionId: caller.sessionId }
  throw new ApiError('FORBIDDEN', 'only a logged-in user can do this')
}

/** All tokens of the user die, whatever device they are on (interface §Authentication 6). */
export async function logOut(ctx: Ctx<unknown>): Promise<undefined> {
  const { id, email } = requireUser(ctx)
  await endSessions(ctx.db, id, 'logout', ctx.ports.clock.now())
  ctx.audited({ type: 'user', id, name: email })
  ctx.after(() => ctx.ports.callers.changed(id))
  clearRefreshCookie(ctx)
  return undefined
}

/**
 * The person who calls, as long as they belong to something (interface §Authentication 11).
 *
 * @throws ApiError 403 for an API key, and for a user who belongs to no partner and no organization any more
 */
export function requireMember(ctx: Pick<Ctx, 'caller'>): ReturnType<typeof requireUser> {
  if (!ctx.caller.membership && !ctx.caller.platformAdmin) {
    throw new ApiError('CONTEXT_REQUIRED', 'partner or organization context required')
  }
  return requireUser(ctx)
}

/** The caller's own account. @throws ApiError 403 as {@link requireMember} */
export const ownAccount = (ctx: Pick<Ctx, 'caller' | 'db'>) => findOwnAccount(ctx.db, requireMember(ctx).id)

/** @throws ApiError 403 as {@link requireMember} */
export async function whoAmI(ctx: Ctx<unknown>): Promise<Me | undefined> {
  const { caller } = ctx
  const user = await ownAccount(ctx)
  return (
    user && {
      user,
      permissions: [...caller.permissions].sort(),
      platformAdmin: caller.platformAdmin,
      mfaEnrollmentRequired: caller.mustEnrolMfa,
    }
  )
}
