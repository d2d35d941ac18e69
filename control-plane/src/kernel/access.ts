import type { Caller } from './context.ts'
import { ApiError } from './errors.ts'
import { everything, type Permission } from './permissions.ts'
import type { Can, Route } from './route.ts'
import type { Scope } from './tenancy.ts'

/** A checked second factor is fresh for this long. */
const freshMfaMs = 10 * 60_000

/** `*:*` grants everything within the caller's scope. */
export const holds = (caller: Caller, permission: Permission): boolean =>
  caller.permissions.has(permission) || caller.permissions.has(everything)

/** `public` and `enrollment` ask for no credential; the handler of an `enrollment` route verifies the secret in its body. */
export const isOpen = (can: Can): boolean => can === 'public' || can === 'enrollment'

/** May this caller call this route? In this order: 401, 403, 428. @throws ApiError */
export function authorize(route: Route, caller: Caller, now: Date, enable2fa: boolean): void {
  if (isOpen(route.can)) return
  if (caller.kind === 'nobody') throw new ApiError('UNAUTHENTICATED', 'a credential is needed')
  if (caller.kind === 'api-key') refuseToKey(route)
  requirePermission(route.can, caller)
  if (route.fullAccess) requireFullAccess(caller, route.fullAccess)
  if (caller.mustEnrolMfa && !route.mfaExempt) {
    throw new ApiError('MFA_ENROLLMENT_REQUIRED', 'the role demands a TOTP authenticator', {
      details: [{ enroll: 'POST /api/v1/auth/mfa/setup' }],
    })
  }
  // Last: a factor that is not enrolled yet cannot be fresh.
  if (route.freshMfa && enable2fa) requireFreshMfa(caller, now)
}

/** Logins are people's; and where no permission is asked, no scope limits what a key may change. */
function refuseToKey({ path, can, writes }: Route) {
  if (path.startsWith('/auth/') || (can === 'signed-in' && writes)) {
    throw new ApiError('FORBIDDEN', 'an API key cannot do this: it takes a login')
  }
}

function requirePermission(can: Can, caller: Caller) {
  if (can === 'signed-in' || can === 'public' || can === 'enrollment') return
  if (can === 'platform') {
    if (!caller.platformAdmin) throw new ApiError('FORBIDDEN', 'only the platform administrator may do this')
  } else if (can === 'portal') {
    if (caller.kind !== 'portal') throw new ApiError('UNAUTHENTICATED', 'a portal session is needed')
  } else if (!caller.membership) {
    throw new ApiError('CONTEXT_REQUIRED', 'partner or organization context required')
  } else if (!holds(caller, can)) throw new ApiError('FORBIDDEN', `permission ${can} is needed`)
}

/** Of the partner: all organizations. Of an organization: all sites and device groups. */
function requireFullAccess({ membership, scope }: Caller, of: true | 'organization') {
  if (scope.kind !== 'tenant')
    throw new ApiError('CONTEXT_REQUIRED', 'partner or organization context required')
  if (scope.siteIds || scope.deviceGroupIds)
    throw new ApiError('FULL_ACCESS_REQUIRED', 'full organization access required')
  if (of === true && membership?.kind !== 'organization') requireAllOrganizations(scope)
}

/**
 * Who sees only some organizations must not decide on the partner, or on which it has (interface §Authentication 11).
 *
 * @returns the partner
 * @throws ApiError 403 FULL_ACCESS_REQUIRED
 */
export function requireAllOrganizations(scope: Scope): string {
  if (scope.kind === 'tenant' && scope.orgs === 'all') return scope.partnerId
  throw new ApiError('FULL_ACCESS_REQUIRED', 'full partner organization access required')
}

/** API keys have no second factor; it is asked of people alone. */
export function requireFreshMfa(caller: Caller, now: Date) {
  if (caller.kind !== 'user') return
  const age = caller.mfaAt ? now.getTime() - caller.mfaAt.getTime() : Number.POSITIVE_INFINITY
  if (age > freshMfaMs) {
    throw new ApiError('MFA_REQUIRED', 'a second factor checked within ten minutes is needed', {
      details: [{ verify: 'POST /api/v1/auth/mfa/verify' }],
    })
  }
}
