import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../adapters/clock.ts'
import type { Tokens, VerifiedAccess } from '../adapters/tokens.ts'
import { isApiKey } from './api-key-text.ts'
import type { ApiKeys, KeyStanding } from './api-keys.ts'
import type { Callers, Member, Standing } from './callers.ts'
import type { Caller, Membership } from './context.ts'
import { ApiError } from './errors.ts'
import type { Permission } from './permissions.ts'
import { covers } from './rights.ts'
import type { Scope } from './tenancy.ts'

export const nobody: Caller = {
  kind: 'nobody',
  actor: { type: 'anonymous' },
  scope: { kind: 'nobody' },
  permissions: new Set(),
  platformAdmin: false,
  mfa: false,
  mustEnrolMfa: false,
}

/** Decides once per request who calls. */
export interface Identify {
  /**
   * @throws ApiError UNAUTHENTICATED for a credential that is no good, RATE_LIMITED where API keys are guessed; without one:
   * {@link nobody}
   */
  (credential: Credential): Promise<Caller>
}

/** What a request brings to be known by: two headers and where it comes from. */
export interface Credential {
  authorization: string | undefined
  apiKey: string | undefined
  ip: string
}

const unauthenticated = (message: string, cause?: unknown) =>
  new ApiError('UNAUTHENTICATED', message, { cause })

/** A verified token is remembered this long at most, and never past its end. Whether its user still stands is asked each time. */
const tokenCacheMs = 60_000
/** Two clocks may differ by this when a token is compared with what was loaded before it was issued. */
const skewMs = 5_000

/** Who somebody is, by what was known of their user. */
interface Decided {
  standing: Standing | undefined
  caller: Caller
}

/** The credentials that a request may bring; each kind has its own answer. */
function credentialOf(headers: Credential) {
  if (headers.apiKey !== undefined) return { kind: 'api-key', value: headers.apiKey } as const
  const bearer = /^Bearer ([\w.~+/-]+=*)$/i.exec(headers.authorization ?? '')?.[1]
  if (bearer !== undefined) return { kind: 'bearer', value: bearer } as const
  if (headers.authorization !== undefined) return { kind: 'unknown' } as const
  return { kind: 'none' } as const
}

export interface IdentifyDeps {
  tokens: Tokens
  callers: Callers
  apiKeys: ApiKeys
  clock: Clock
  /** false: no role's demand for a second factor is enforced (ENABLE_2FA) */
  enable2fa: boolean
}

export function identifyWith({ tokens, callers, apiKeys, clock, enable2fa }: IdentifyDeps): Identify {
  const verified = new LRUCache<string, VerifiedAccess>({ max: 10_000, ttl: tokenCacheMs })
  const verify = async (token: string): Promise<VerifiedAccess> => {
    const key = hash('sha256', token, 'base64')
    const known = verified.get(key)
    const now = clock.now().getTime()
    if (known && known.expiresAt.getTime() > now) return known
    const access = await tokens.verify(token).catch((error: unknown) => {
      throw unauthenticated('the access token is not valid', error)
    })
    verified.set(key, access, { ttl: Math.max(1, Math.min(tokenCacheMs, access.expiresAt.getTime() - now)) })
    return access
  }

  /** Of each login and key who it is, for as long as its user's standing is remembered: not found out again for each request. */
  const decided = new WeakMap<VerifiedAccess | KeyStanding, Decided>()
  const decide = async (
    of: VerifiedAccess | KeyStanding,
    userId: string,
    anew: (standing: Standing | undefined) => Decided | Promise<Decided>,
  ): Promise<Caller> => {
    const standing = await callers.find(userId)
    const known = decided.get(of)
    if (known && known.standing === standing) return known.caller
    const made = await anew(standing)
    decided.set(of, made)
    return made.caller
  }
  const userOf = (access: VerifiedAccess) =>
    decide(access, access.userId, async (known) => {
      const standing = known && lives(known, access) ? known : await reloaded(callers, access)
      return { standing, caller: userCaller(access, standing, enable2fa) }
    })
  const keyOf = (key: KeyStanding) =>
    decide(key, key.ownerId, (standing) => ({ standing, caller: keyCaller(key, standing, enable2fa) }))

  return async (headers) => {
    const credential = credentialOf(headers)
    switch (credential.kind) {
      case 'none':
        return nobody
      case 'bearer':
        return userOf(await verify(credential.value))
      case 'api-key': {
        const key = isApiKey(credential.value) && (await apiKeys.find(credential.value, headers.ip))
        if (!key || key.expiresAt <= clock.now()) throw noKey()
        return keyOf(key)
      }
      case 'unknown':
        throw unauthenticated('the credential is not valid')
    }
  }
}

const lives = (standing: Standing | undefined, access: VerifiedAccess) =>
  standing?.status === 'active' &&
  standing.authEpoch === access.authEpoch &&
  standing.sessions.some(({ id }) => id === access.sessionId)

/** The user's standing as it is now, if this login still counts: what was loaded before the token was issued cannot know of it. */
async function reloaded(callers: Callers, access: VerifiedAccess): Promise<Standing> {
  const fresh = await callers.find(access.userId, access.issuedAt.getTime() + skewMs)
  if (!fresh || !lives(fresh, access)) throw unauthenticated('the login has ended')
  return fresh
}

const noKey = () => unauthenticated('the API key is not valid')

/** What a key may do: its scopes as far as its owner still holds them, where that membership still reaches. */
function keyCaller(key: KeyStanding, owner: Standing | undefined, enable2fa: boolean): Caller {
  const member = owner?.memberships.find(
    ({ kind, id }) =>
      kind === (key.memberOrg ? 'organization' : 'partner') && id === (key.memberOrg ?? key.partnerId),
  )
  const scope = member && narrowed(scopeOf(member), key.orgId)
  if (owner?.status !== 'active' || !member || !scope) throw noKey()
  return {
    kind: 'api-key',
    actor: { type: 'api_key', id: key.id, email: owner.email, ownerId: key.ownerId },
    scope,
    permissions: within(key.scopes, permissionsOf(member)),
    platformAdmin: false,
    mfa: false,
    mustEnrolMfa: enable2fa && member.forceMfa && !owner.hasTotp,
    membership: membershipOf(member),
    key,
  }
}

/** One organization of those that the scope reaches; undefined when it does not (any more). */
function narrowed(scope: Scope, orgId: string | null): Scope | undefined {
  if (orgId === null || scope.kind !== 'tenant') return scope
  const { partnerLevel: _, ...rest } = scope
  return scope.orgs === 'all' || scope.orgs.includes(orgId) ? { ...rest, orgs: [orgId] } : undefined
}

/** Scopes are permissions of the catalogue, never the wildcard. */
const within = (scopes: readonly string[], held: Caller['permissions']): Caller['permissions'] =>
  new Set((scopes as Permission[]).filter((scope) => covers(held, [scope])))

function userCaller(access: VerifiedAccess, standing: Standing, enable2fa: boolean): Caller {
  const member = standing.memberships.find(
    ({ kind, id }) => kind === access.membership?.kind && id === access.membership.id,
  )
  const mfaAt = standing.sessions.find(({ id }) => id === access.sessionId)?.mfaAt
  return {
    kind: 'user',
    actor: { type: 'user', id: access.userId, email: standing.email },
    scope: member ? scopeOf(member) : { kind: 'nobody' },
    permissions: member ? permissionsOf(member) : new Set(),
    // What an organization's provider says is worth nothing beyond that organization.
    platformAdmin: standing.platformAdmin && !access.sso,
    mfa: access.mfa,
    mustEnrolMfa: enable2fa && member?.forceMfa === true && !standing.hasTotp && access.sso?.mfa !== true,
    sessionId: access.sessionId,
    ...(access.sso && { sso: access.sso }),
    ...(mfaAt && { mfaAt }),
    ...(member && { membership: membershipOf(member), roleId: member.roleId }),
  }
}

const permissionsOf = (member: Member) => new Set(member.permissions as Permission[])

const membershipOf = ({ kind, id, partnerId }: Member): Membership =>
  kind === 'partner' ? { kind, id } : { kind, id, partnerId }

/** `orgAccess`: `none` is the partner's own level alone (interface §Memberships). */
function scopeOf({ kind, id, partnerId, orgAccess, orgIds, siteIds, deviceGroupIds }: Member): Scope {
  const tenant = { kind: 'tenant', partnerId } as const
  if (kind === 'organization') {
    return { ...tenant, orgs: [id], ...(siteIds && { siteIds }), ...(deviceGroupIds && { deviceGroupIds }) }
  }
  if (orgAccess === 'all') return { ...tenant, orgs: 'all' }
  return orgAccess === 'selected'
    ? { ...tenant, orgs: orgIds ?? [] }
    : { ...tenant, orgs: [], partnerLevel: true }
}
