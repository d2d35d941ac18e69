import { requireWithin } from '../../../kernel/ceiling.ts'
import type { Ctx } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import type { Page } from '../../../kernel/page.ts'
import { everything } from '../../../kernel/permissions.ts'
import { effectiveRights } from '../../../kernel/role-tree.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import { revokeApiKeysOfMembers } from '../api-keys/tenant/service.ts'
import { beginChange, requireAdministrator, rightsOfRoles, treeOfRole } from '../roles/tree/service.ts'
import { findInvited } from './invitations/queries.ts'
import { assignInvitedRole, changeInvited, withdraw } from './invitations/service.ts'
import {
  changeAccount,
  deleteMemberships,
  endMembershipSessions,
  endSessions,
  findUser,
  listRolesWithUsers,
  listUsers,
  setRole,
} from './queries.ts'
import type {
  AssignRole,
  Membership,
  RoleWithUsers,
  UpdateUser,
  User,
  UserFilter,
  WhichMembership,
} from './schema.ts'
import {
  aboutUser,
  changesOf,
  chosenMembership,
  membershipIn,
  requireAnother,
  requireOver,
  userOf,
} from './user.ts'

export { requireAnother } from './user.ts'

type UserCtx<Body = unknown, Query = unknown> = Ctx<{ id: string }, Query, Body>

/** Users of each role that are shown with it. */
const usersShown = 100

/** Everybody whose membership or invitation the caller sees, newest first. */
export async function userList({ db, query }: Ctx<unknown, UserFilter>, page: Page): Promise<User[]> {
  const rows = await listUsers(db, query, page)
  return rows.map((row) => {
    const { orgId } = query
    const of = row.memberships.find((membership) => membership.orgId === orgId)
    return userOf(row, of)
  })
}

export async function oneUser({ db, params }: UserCtx): Promise<User | undefined> {
  const row = (await findUser(db, params.id)) ?? (await findInvited(db, params.id))
  return row && userOf(row)
}

export const rolesWithUsers = ({ db, query }: Ctx<unknown, { orgId?: string | undefined }>, page: Page) =>
  listRolesWithUsers(db, query.orgId, usersShown, page) as Promise<RoleWithUsers[]>

/**
 * Renames, disables or enables an account, or an invitation. Undefined (404) for a user whom the caller does not see.
 *
 * @throws ApiError 403 for oneself (disabling), for a user who holds more than the caller, and for an account that is not this
 *   tenant's alone; 409 when no administrator would be left, and for making an invited account active, which its link does
 */
export async function changeUser(ctx: UserCtx<UpdateUser>): Promise<User | undefined> {
  const { db, body, caller, params, ports } = ctx
  const partnerId = await beginChange(db)
  const user = await findUser(db, params.id)
  if (!user) return changeInvited(ctx)
  if (body.status === 'disabled') requireAnother(caller, user.id, 'disable their own account')
  if (body.status === 'active' && user.status === 'invited') {
    throw new ApiError('CONFLICT', 'an invited account becomes active by its link alone', {
      details: [{ from: user.status, to: body.status }],
    })
  }
  await requireOver(db, caller, user.memberships)
  const at = ports.clock.now()
  const administrator = await anyAdministrator(db, user.memberships)
  const done = await changeAccount(db, user.id, tenantOf(db), body, at)
  if (!done?.changed) {
    throw new ApiError(
      'FORBIDDEN',
      'the account also belongs to others: here it can be removed or given another role, and not be renamed or disabled',
    )
  }
  if (body.status === 'disabled') {
    await endSessions(db, user.id, 'disabled', at)
    if (administrator) await requireAdministrator(db, partnerId)
  }
  ctx.audited({ ...aboutUser(user, userOf(user)), details: changesOf(user, body) })
  ctx.after(() => ports.callers.changed(user.id))
  return oneUser(ctx)
}

/**
 * Takes a user out of the partner or organization, or an invitation back; the account remains.
 *
 * @throws ApiError 404; 400 where it could be one of several memberships; 403 for oneself and for a user who holds more than the
 *   caller; 409 for the last administrator
 */
export async function removeUser(ctx: UserCtx<unknown, WhichMembership>): Promise<null> {
  const { db, caller, params, query } = ctx
  await beginChange(db)
  const user = await findUser(db, params.id)
  if (!user && (await withdraw(ctx))) return null
  const membership = user && chosenMembership(user, query.orgId)
  if (!user || !membership) throw new ApiError('NOT_FOUND', 'not found')
  requireAnother(caller, user.id, 'remove themselves')
  await requireOver(db, caller, [membership])
  const apiKeys = await endMemberships(ctx, [{ userId: user.id, membership }], 'removed')
  ctx.audited({
    ...aboutUser(user, membership),
    details: { roleId: membership.roleId, role: membership.roleName, apiKeys },
  })
  return null
}

/** What makes a membership an administrator's, and where it is. */
type Standing = Pick<Membership, 'partnerId' | 'orgId' | 'roleId' | 'orgAccess'>

/** A membership that is to end. */
export interface Ending {
  userId: string
  membership: Standing
  /** what a refusal says of it, beside its user */
  named?: Record<string, unknown>
}

/** Of more users than this everybody's standing is read anew: that many hints would cost more. */
const mostHints = 50

/** Users that a refusal names; there may be thousands. */
export const mostNamed = 100

/**
 * Memberships of one partner end, and with them the logins and API keys that were under them; whoever calls has begun the change and
 * checked who may do this.
 *
 * @param reason as the sessions keep it
 * @returns API keys that were revoked
 * @throws ApiError 409 LAST_ADMINISTRATOR before anything has ended; `details` names those who would have been the last
 */
export async function endMemberships(
  { db, ports, after }: Pick<Ctx, 'db' | 'ports' | 'after'>,
  endings: readonly Ending[],
  reason: string,
): Promise<number> {
  const administrators = await administratorsAmong(db, endings)
  const [first] = administrators
  if (first) {
    const leaving = {
      userIds: administrators.map(({ userId }) => userId),
      details: administrators.slice(0, mostNamed).map(({ userId, named }) => ({ userId, ...named })),
    }
    await requireAdministrator(db, first.membership.partnerId, leaving)
  }
  const places = endings.map(({ userId, membership }) => ({ userId, ...membership }))
  await deleteMemberships(db, places)
  await endMembershipSessions(db, places, reason, ports.clock.now())
  const apiKeys = await revokeApiKeysOfMembers(db, places)
  if (apiKeys > 0) after(() => ports.apiKeys.changed())
  if (endings.length > mostHints) after(() => ports.callers.changed())
  else for (const { userId } of endings) after(() => ports.callers.changed(userId))
  return apiKeys
}

/**
 * Another role in what the role belongs to. Undefined (404) for a user or role that the caller does not see, and for a user who is
 * not a member of that.
 *
 * @throws ApiError 403 for oneself, and when either role gives more than the caller holds; 409 for the last administrator
 */
export async function assignRole(ctx: UserCtx<AssignRole>): Promise<User | undefined> {
  const { db, body, caller, params, ports } = ctx
  const partnerId = await beginChange(db)
  const [user, role] = [await findUser(db, params.id), await treeOfRole(db, body.roleId)]
  if (!user) return assignInvitedRole(ctx)
  const membership = role && membershipIn(user, role.owner)
  if (!role || !membership) return undefined
  requireAnother(caller, user.id, 'give themselves another role')
  await requireOver(db, caller, [membership])
  requireWithin(caller, effectiveRights(role.tree, body.roleId), 'the role')
  const administrator = await anyAdministrator(db, [membership])
  await setRole(db, user.id, membership, body.roleId)
  if (administrator) await requireAdministrator(db, partnerId)
  const details = { from: membership.roleId, to: body.roleId, role: role.tree.get(body.roleId)?.name }
  ctx.audited({ ...aboutUser(user, membership), details })
  ctx.after(() => ports.callers.changed(user.id))
  const changed = await findUser(db, user.id)
  return changed && userOf(changed, membership)
}

/** Those of a partner's administrators: who see all of it and may do everything. Of an organization nobody is the last. */
async function administratorsAmong<T extends { membership: Standing }>(
  db: Db,
  members: readonly T[],
): Promise<T[]> {
  const own = members.filter(({ membership }) => membership.orgId === null && membership.orgAccess === 'all')
  if (own.length === 0) return []
  const rights = await rightsOfRoles(
    db,
    own.map(({ membership }) => membership.roleId),
  )
  return own.filter(({ membership }) => rights.get(membership.roleId)?.has(everything))
}

const anyAdministrator = async (db: Db, memberships: readonly Standing[]): Promise<boolean> =>
  (
    await administratorsAmong(
      db,
      memberships.map((membership) => ({ membership })),
    )
  ).length > 0

/** What the caller administers: all of the partner, or one organization. */
function tenantOf({ scope }: Db) {
  if (scope.kind !== 'tenant') throw new Error('users are changed within a tenant')
  const { partnerId, orgs } = scope
  return { partnerId, orgId: orgs === 'all' ? null : (orgs[0] ?? null) }
}
