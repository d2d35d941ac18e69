import { requireWithin } from '../../../../kernel/ceiling.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { effectiveRights } from '../../../../kernel/role-tree.ts'
import { treeOfRole } from '../../roles/tree/service.ts'
import type { UserRow } from '../queries.ts'
import type { AssignRole, UpdateUser, User, WhichMembership } from '../schema.ts'
import { aboutUser, changesOf, chosenMembership, membershipIn, requireOver, userOf } from '../user.ts'
import { deleteInvitation, findInvited, setInvitedRole, updateInvitation } from './queries.ts'

type InvitedCtx<Body = unknown, Query = unknown> = Ctx<{ id: string }, Query, Body>

/** Whoever calls has begun the change. All of it is about the invitation alone: whose the address is, has no part in it. */
async function invitedOver(ctx: InvitedCtx): Promise<UserRow | undefined> {
  const row = await findInvited(ctx.db, ctx.params.id)
  if (row) await requireOver(ctx.db, ctx.caller, row.memberships)
  return row
}

/**
 * Renames, disables or enables an invitation: while it is disabled its link is void. Enabled, it waits for its link again.
 *
 * @throws ApiError 403 for a role that gives more than the caller holds, 409 for making an invitation `active`, which its link does
 */
export async function changeInvited(ctx: InvitedCtx<UpdateUser>): Promise<User | undefined> {
  const { db, params, body, ports } = ctx
  const row = await invitedOver(ctx)
  if (!row) return undefined
  if (body.status === 'active' && row.status === 'invited') {
    throw new ApiError('CONFLICT', 'an invited user becomes active by accepting the invitation', {
      details: [{ from: row.status, to: body.status }],
    })
  }
  const status = body.status === 'active' ? 'invited' : body.status
  await updateInvitation(db, params.id, { name: body.name, status }, ports.clock.now())
  ctx.audited({ ...aboutUser(row, userOf(row)), details: changesOf(row, { name: body.name, status }) })
  const changed = await findInvited(db, params.id)
  return changed && userOf(changed)
}

/**
 * Takes an invitation back; its link is void. False: there is none that the caller sees, or it was accepted at this moment: then there is
 * a member, and nobody may be told that there is none. @throws ApiError 403 as {@link changeInvited}
 */
export async function withdraw(ctx: InvitedCtx<unknown, WhichMembership>): Promise<boolean> {
  const row = await invitedOver(ctx)
  const place = row && chosenMembership(row, ctx.query.orgId)
  if (!row || !place) return false
  if ((await deleteInvitation(ctx.db, row.id)) === 0) return false
  const details = { roleId: place.roleId, role: place.roleName, invitation: true }
  ctx.audited({ ...aboutUser(row, place), details })
  return true
}

/** Another role in what the invitation is to. @throws ApiError 403 when either role gives more than the caller holds */
export async function assignInvitedRole(ctx: InvitedCtx<AssignRole>): Promise<User | undefined> {
  const { db, body, caller } = ctx
  const [row, role] = [await findInvited(db, ctx.params.id), await treeOfRole(db, body.roleId)]
  const place = row && role && membershipIn(row, role.owner)
  if (!row || !role || !place) return undefined
  await requireOver(db, caller, [place])
  requireWithin(caller, effectiveRights(role.tree, body.roleId), 'the role')
  await setInvitedRole(db, row.id, body.roleId)
  const details = { from: place.roleId, to: body.roleId, role: role.tree.get(body.roleId)?.name }
  ctx.audited({ ...aboutUser(row, place), details })
  const changed = await findInvited(db, row.id)
  return changed && userOf(changed)
}
