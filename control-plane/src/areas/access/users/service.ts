import { requireWithin } from '../../../kernel/ceiling.ts'
import type { Ctx } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import type { Page } from '../../../kernel/page.ts'
import { everything } from '../../../kernel/permissions.ts'
import { effectiveRights } from '../../../kernel/role-tree.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import { beginChange, requireAdministrator, rightsOfRole, treeOfRole } from '../roles/tree/service.ts'
import {
  changeAccount,
  deleteMembership,
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
import { chosenMembership, membershipIn, requireAnother, requireOver, userOf } from './user.ts'

type UserCtx<Body = unknown, Query = unknown> = Ctx<{ id: string }, Query, Body>

/** Users of each role that are shown with it. */
const usersShown = 100

/** Everybody whose membership the caller sees, newest account first. */
export async function userList({ db, query }: Ctx<unknown, UserFilter>, page: Page): Promise<User[]> {
  const rows = await listUsers(db, query, page)
  return rows.map((row) => {
    const { orgId } = query
    const of = row.memberships.find((membership) => membership.orgId === orgId)
    return userOf(row, of)
  })
}

export async function oneUser({ db, params }: UserCtx): Promise<User | undefined> {
  const row = await findUser(db, params.id)
  return row && userOf(row)
}

export const rolesWithUsers = ({ db, query }: Ctx<unknown, { orgId?: string | undefined }>, page: Page) =>
  listRolesWithUsers(db, query.orgId, usersShown, page) as Promise<RoleWithUsers[]>

/**
 * Renames, disables or enables an account. Undefined (404) for a user whom the caller does not see.
 *
 * @throws ApiError 403 for oneself (disabling), for a user who holds more than the caller, and for an account that is not this
 *   tenant's alone; 409 when no administrator would be left
 */
export async function changeUser(ctx: UserCtx<UpdateUser>): Promise<User | undefined> {
  const { db, body, caller, params, ports } = ctx
  const partnerId = await beginChange(db)
  const user = await findUser(db, params.id)
  if (!user) return undefined
  if (body.status === 'disabled') requireAnother(caller, user.id, 'disable their own account')
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
 * Takes a user out of the partner or organization; the account remains.
 *
 * @throws ApiError 404; 400 where it could be one of several memberships; 403 for oneself and for a user who holds more than the
 *   caller; 409 for the last administrator
 */
export async function removeUser(ctx: UserCtx<unknown, WhichMembership>): Promise<null> {
  const { db, caller, params, query } = ctx
  await beginChange(db)
  const user = await findUser(db, params.id)
  const membership = user && chosenMembership(user, query.orgId)
  if (!user || !membership) throw new ApiError('NOT_FOUND', 'not found')
  requireAnother(caller, user.id, 'remove themselves')
  await requireOver(db, caller, [membership])
  await endMembership(ctx, user, membership, 'removed')
  ctx.audited({
    ...aboutUser(user, membership),
    details: { roleId: membership.roleId, role: membership.roleName },
  })
  return null
}

/**
 * A membership ends, and with it the logins that were for it; whoever calls has begun the change and checked who may do this.
 *
 * @param reason as the sessions keep it
 * @throws ApiError 409 LAST_ADMINISTRATOR
 */
export async function endMembership(
  { db, ports, after }: Pick<Ctx, 'db' | 'ports' | 'after'>,
  user: { id: string },
  membership: Membership,
  reason: string,
): Promise<void> {
  const administrator = await anyAdministrator(db, [membership])
  await deleteMembership(db, user.id, membership)
  await endMembershipSessions(db, user.id, membership, reason, ports.clock.now())
  if (administrator) await requireAdministrator(db, membership.partnerId)
  after(() => ports.callers.changed(user.id))
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
  const membership = user && role && membershipIn(user, role.owner)
  if (!user || !role || !membership) return undefined
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

/** Is one of these a partner's administrator: sees all of it, and may do everything? Of an organization that is never the last. */
async function anyAdministrator(db: Db, memberships: readonly Membership[]): Promise<boolean> {
  const own = memberships.find(({ orgId, orgAccess }) => orgId === null && orgAccess === 'all')
  return own !== undefined && (await rightsOfRole(db, own.roleId)).has(everything)
}

/** What the caller administers: all of the partner, or one organization. */
function tenantOf({ scope }: Db) {
  if (scope.kind !== 'tenant') throw new Error('users are changed within a tenant')
  const { partnerId, orgs } = scope
  return { partnerId, orgId: orgs === 'all' ? null : (orgs[0] ?? null) }
}

const aboutUser = (
  { id, email }: { id: string; email: string },
  { partnerId, orgId }: Pick<Membership, 'partnerId' | 'orgId'>,
) => ({ type: 'user', id, name: email, partnerId, ...(orgId !== null && { orgId }) })

const changesOf = (user: { name: string; status: string }, { name, status }: UpdateUser) => ({
  ...(name !== undefined && { name: { from: user.name, to: name } }),
  ...(status !== undefined && { status: { from: user.status, to: status } }),
})
