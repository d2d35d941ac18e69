import type { Caller, Ctx } from '../../../../kernel/context.ts'
import { ownAccount, requireMember, requireOwner } from '../../auth/session/service.ts'
import { changeOwnProfile } from './queries.ts'
import type { Profile, UpdateProfile } from './schema.ts'

/** @throws ApiError 403 for an API key, and for an account that belongs to nothing any more (interface §Authentication 11) */
export async function ownProfile(ctx: Ctx<unknown>): Promise<Profile | undefined> {
  const { caller } = ctx
  const account = await ownAccount(ctx)
  return (
    account && {
      ...account,
      ...standingOf(caller),
      permissions: [...caller.permissions].toSorted(),
      platformAdmin: caller.platformAdmin,
    }
  )
}

/** Name and picture; what is left out stays. The account has them wherever it belongs. */
export async function changeProfile(ctx: Ctx<unknown, unknown, UpdateProfile>): Promise<Profile | undefined> {
  const { id, email } = requireMember(ctx)
  await requireOwner(ctx)
  await changeOwnProfile(ctx.db, id, ctx.body, ctx.ports.clock.now())
  ctx.audited({ type: 'user', id, name: email, details: { ...ctx.body } })
  return ownProfile(ctx)
}

const nothing = {
  partnerId: null,
  orgId: null,
  orgAccess: null,
  orgIds: null,
  siteIds: null,
  deviceGroupIds: null,
} as const

/** What this login is for, and how far it reaches there. */
function standingOf({ membership, scope, ...caller }: Caller) {
  const roleId = caller.roleId ?? null
  if (!membership || scope.kind !== 'tenant') return { ...nothing, scope: 'system' as const, roleId }
  const { partnerId, orgs } = scope
  if (membership.kind === 'organization') {
    const { siteIds = null, deviceGroupIds = null } = scope
    return {
      ...nothing,
      scope: 'organization' as const,
      partnerId,
      orgId: membership.id,
      roleId,
      siteIds: siteIds && [...siteIds],
      deviceGroupIds: deviceGroupIds && [...deviceGroupIds],
    }
  }
  const access = orgs === 'all' ? 'all' : scope.partnerLevel ? 'none' : 'selected'
  const orgIds = access === 'selected' && orgs !== 'all' ? [...orgs] : null
  return { ...nothing, scope: 'partner' as const, partnerId, roleId, orgAccess: access, orgIds } as const
}
