import { v7 as uuid } from 'uuid'
import { queueMail } from '../../../../engines/mail/queue.ts'
import { requireWithin } from '../../../../kernel/ceiling.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { effectiveRights } from '../../../../kernel/role-tree.ts'
import { newLink, type NewLink } from '../../auth/links/service.ts'
import { beginChange, type Owner, treeOfRole } from '../../roles/tree/service.ts'
import { findInvited, insertInvitation, isMember, replaceLink } from '../invitations/queries.ts'
import { findUser } from '../queries.ts'
import type { InvitedUser, InviteUser, ResendInvite } from '../schema.ts'
import { aboutUser, requireOver, userOf } from '../user.ts'
import { requireForm, requireKnown } from './places.ts'
import { tenantName } from './queries.ts'

type InviteCtx<Body> = Ctx<Record<string, never>, unknown, Body>

/**
 * Invites an address to what the role belongs to. Whether it has an account is not asked: whoever reads its mail becomes a member by
 * accepting, and until then there is nothing but the invitation. Undefined (404) for a role that the caller does not see.
 *
 * @throws ApiError 400 for a form that does not go with the role, 403 for a role that gives more than the caller holds, 404 for
 *   organizations, sites and groups that are not there, 409 for somebody who is a member or invited there already
 */
export async function invite(ctx: InviteCtx<InviteUser>): Promise<InvitedUser | undefined> {
  const { db, body, caller, ports } = ctx
  await beginChange(db)
  const role = await treeOfRole(db, body.roleId)
  if (!role) return undefined
  const { owner } = role
  requireForm(owner, body)
  requireWithin(caller, effectiveRights(role.tree, body.roleId), 'the role')
  await requireKnown(db, owner, body)
  const [id, link] = [uuid(), newLink(ctx, 'invite')]
  const place = { ...owner, id, at: ports.clock.now() }
  if ((await isMember(db, body.email, owner)) || (await insertInvitation(db, place, body, link)) === 0) {
    throw new ApiError('ALREADY_EXISTS', 'user already exists in this scope', {
      details: [{ email: body.email }],
    })
  }
  const inviteEmailSent = await sendLink(ctx, owner, body, link)
  ctx.audited({ ...aboutUser({ id, email: body.email }, owner), details: { ...body } })
  const row = await findInvited(db, id)
  return row && { ...userOf(row), inviteEmailSent }
}

/**
 * A fresh link for somebody who has not accepted; the one before is void. Undefined (404) for whom the caller does not see, and for an
 * invitation that is accepted at this moment: a mail would bring a link that leads nowhere.
 *
 * @throws ApiError 403 for a role that gives more than the caller holds, since one that has lapsed gives it again; 409 for a member, and for a
 * disabled invitation
 */
export async function resendInvite(ctx: InviteCtx<ResendInvite>): Promise<InvitedUser | undefined> {
  const { db, body } = ctx
  await beginChange(db)
  const row = await findInvited(db, body.userId)
  const found = row ?? (await findUser(db, body.userId))
  if (!found) return undefined
  if (!row || row.status !== 'invited') {
    throw new ApiError('CONFLICT', 'the user has accepted already, or may not', {
      details: [{ from: found.status, to: 'invited' }],
    })
  }
  await requireOver(db, ctx.caller, row.memberships)
  const [user, link] = [userOf(row), newLink(ctx, 'invite')]
  if ((await replaceLink(db, user.id, link)) === 0) return undefined
  const inviteEmailSent = await sendLink(ctx, user, user, link)
  ctx.audited({ ...aboutUser(user, user), details: { emailSent: inviteEmailSent } })
  return { ...user, inviteEmailSent }
}

/** Whether the mail is on its way: false where this server sends none. */
async function sendLink(
  ctx: InviteCtx<unknown>,
  owner: Owner,
  { name, email }: { name: string; email: string },
  { link, until }: NewLink,
): Promise<boolean> {
  const tenant = await tenantName(ctx.db, owner)
  const invitedBy = 'email' in ctx.actor ? ctx.actor.email : 'An administrator'
  const data = { link, until, tenant: tenant?.name ?? '', invitedBy }
  return queueMail(ctx, { to: { name, email }, kind: 'invite', data })
}
