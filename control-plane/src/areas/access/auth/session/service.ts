import { randomBytes } from 'node:crypto'
import { tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import type { AccessClaims } from '../../../../adapters/tokens.ts'
import type { Ctx, SsoLogin } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { Scope } from '../../../../kernel/tenancy.ts'
import { clearRefreshCookie, setRefreshCookie } from './cookies.ts'
import {
  endMembershipSessions,
  endSessions,
  findOwnAccount,
  findPasswordHome,
  type Holder,
  holdPasswordLogin,
  isOfOrganizationAlone,
  markSsoSession,
  openSession,
  type PasswordHome,
  type SsoSession,
} from './queries.ts'
import type { Me, TokenPair } from './schema.ts'

export type { Holder, SsoSession } from './queries.ts'

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

/** RFC 8176; `sso`, which is none of its words: an identity provider knows how. */
export function methodsOf(mfa: boolean, sso?: SsoLogin): string[] {
  if (sso) return mfa ? ['sso', 'mfa'] : ['sso']
  return mfa ? ['pwd', 'otp', 'mfa'] : ['pwd']
}

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
 * @param sso absent: it came by password
 * @returns undefined when the account was disabled or logged out since it was looked up, or its provider was
 * @throws ApiError 403 SSO_REQUIRED for a password where the organization takes none
 */
export async function startSession(
  ctx: Ctx<unknown>,
  holder: Holder,
  mfa: boolean,
  sso?: SsoSession,
): Promise<TokenPair | undefined> {
  const { ports } = ctx
  const at = ports.clock.now()
  const until = new Date(at.getTime() + absoluteMs)
  const refreshToken = newToken('svcr')
  const familyId = uuid()
  const idleUntil = idleEnd(at, until)
  const session = { familyId, tokenHash: tokenHash(refreshToken), mfa, at, idleUntil, until }
  if (!(await openSession(ctx.db, holder, session))) return undefined
  if (sso && !(await markSsoSession(ctx.db, familyId, sso))) return undefined
  if (!sso && holder.orgId !== null) await requirePasswordLogin(ctx, holder.orgId)
  const { accessToken, expiresInSeconds } = await ports.tokens.issue({
    userId: holder.id,
    sessionId: familyId,
    authEpoch: holder.authEpoch,
    mfa,
    amr: methodsOf(mfa, sso),
    membership: membershipOf(holder),
    ...(sso && { sso: { providerId: sso.providerId, mfa: sso.mfa } }),
  })
  await ctx.establish(scopeOf(holder))
  const actor = { type: 'user', id: holder.id, email: holder.email } as const
  const through = sso && { ssoProviderId: sso.providerId }
  ctx.audited({ ...aboutUser(holder), actor, details: { mfa, ...through } })
  ctx.after(() => ports.callers.changed(holder.id))
  setRefreshCookie(ctx, refreshToken, secondsUntil(idleUntil, at))
  return { accessToken, refreshToken, expiresInSeconds }
}

type AnyPorts = Pick<Ctx, 'ports'>

/** The refusal of a password where only the organization's identity provider opens anything. */
export const ssoRequired = ({ ports }: AnyPorts, orgId: string): ApiError =>
  new ApiError('SSO_REQUIRED', 'the organization demands single sign-on', {
    details: [{ orgId, loginUrl: `${ports.config.publicUrl}/api/v1/sso/login/${orgId}` }],
  })

async function requirePasswordLogin(ctx: Pick<Ctx, 'db'> & AnyPorts, orgId: string): Promise<void> {
  if (!(await holdPasswordLogin(ctx.db, orgId))) throw ssoRequired(ctx, orgId)
}

/**
 * What a login of an account by password would be for.
 *
 * @throws ApiError 403 SSO_REQUIRED where all that it belongs to demands single sign-on
 */
export async function requirePasswordHome(
  ctx: Pick<Ctx, 'db'> & AnyPorts,
  userId: string,
): Promise<Pick<PasswordHome, 'partnerId' | 'orgId'>> {
  const home = await findPasswordHome(ctx.db, userId)
  if (home?.demandedBy) throw ssoRequired(ctx, home.demandedBy)
  return { partnerId: home?.partnerId ?? null, orgId: home?.orgId ?? null }
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

type Calling = Pick<Ctx, 'db' | 'caller'>

/** May this login do what reaches beyond the tenant that it is for? One through a provider may where the account is nowhere else. */
async function isOwnersLogin({ db, caller }: Calling, userId: string): Promise<boolean> {
  if (!caller.sso) return true
  return caller.membership !== undefined && isOfOrganizationAlone(db, userId, caller.membership.id)
}

/**
 * The person who calls, to change the account itself: its factors, password or profile, which it has everywhere. An organization's
 * identity provider is no proof for that beyond the organization.
 *
 * @throws ApiError 403 for an API key, and for a login through a provider where the account belongs to something else as well
 */
export async function requireOwner(ctx: Calling): Promise<ReturnType<typeof requireUser>> {
  const user = requireUser(ctx)
  if (await isOwnersLogin(ctx, user.id)) return user
  throw new ApiError('FORBIDDEN', 'the account belongs elsewhere too: log in with its password to change it')
}

/**
 * All tokens of the user die, whatever device they are on (interface §Authentication 6); of a login through an organization's
 * provider, all that are for that organization.
 */
export async function logOut(ctx: Ctx<unknown>): Promise<undefined> {
  const { id, email } = requireUser(ctx)
  const at = ctx.ports.clock.now()
  const { membership } = ctx.caller
  const isTheirs = await isOwnersLogin(ctx, id)
  if (isTheirs || membership?.kind !== 'organization') await endSessions(ctx.db, id, 'logout', at)
  else await endMembershipSessions(ctx.db, id, { ...membership, orgId: membership.id }, 'logout', at)
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
