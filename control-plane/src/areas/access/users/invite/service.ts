import { v7 as uuid } from 'uuid'
import { queueMail } from '../../../../engines/mail/queue.ts'
import { requireWithin } from '../../../../kernel/ceiling.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { effectiveRights } from '../../../../kernel/role-tree.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { issueLink } from '../../auth/links/service.ts'
import { beginChange, type Owner, treeOfRole } from '../../roles/tree/service.ts'
import { findUser } from '../queries.ts'
import type { InvitedUser, InviteUser, ResendInvite } from '../schema.ts'
import { userOf } from '../user.ts'
import { requireForm, requireKnown } from './places.ts'
import { inviteAccount, insertOrganizationMember, insertPartnerMember, tenantName } from './queries.ts'

type InviteCtx<Body> = Ctx<Record<string, never>, unknown, Body>

/**
 * Makes somebody a member of what the role belongs to. An unknown e-mail becomes an account that waits for its link; a known one
 * gets the membership, and no link unless it waits for one too. Undefined (404) for a role that the caller does not see.
 *
 * @throws ApiError 400 for a form that does not go with the role, 403 for a role that gives more than the caller holds, 404 for
 *   organizations, sites and groups that are not there, 409 for somebody who is a member already
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
  const account = await inviteAccount(db, uuid(), body.email, body.name, ports.clock.now())
  if (!account) throw new Error('an account is neither there nor could it be made')
  if ((await addMember(db, account.id, owner, body)) === 0) {
    throw new ApiError('ALREADY_EXISTS', 'user already exists in this scope', {
      details: [{ email: body.email }],
    })
  }
  const waits = account.status === 'invited'
  const inviteEmailSent = waits && (await sendLink(ctx, owner, { ...account, email: body.email }))
  ctx.audited(aboutInvited(owner, account.id, body.email, { ...body, newAccount: account.fresh }))
  ctx.after(() => ports.callers.changed(account.id))
  const user = await findUser(db, account.id)
  return user && { ...userOf(user, owner), inviteEmailSent }
}

/**
 * A fresh link for somebody who has not used theirs; the one before is void. Undefined (404) for a user whom the caller does not see.
 *
 * @throws ApiError 409 for an account that does not wait for one
 */
export async function resendInvite(ctx: InviteCtx<ResendInvite>): Promise<InvitedUser | undefined> {
  const { db, body } = ctx
  await beginChange(db)
  const found = await findUser(db, body.userId)
  if (!found) return undefined
  if (found.status !== 'invited') {
    throw new ApiError('CONFLICT', 'the user has set up the account already, or may not', {
      details: [{ from: found.status, to: 'invited' }],
    })
  }
  const user = userOf(found)
  const inviteEmailSent = await sendLink(ctx, user, user)
  ctx.audited(aboutInvited(user, user.id, user.email, { emailSent: inviteEmailSent }))
  return { ...user, inviteEmailSent }
}

const addMember = (db: Db, userId: string, { partnerId, orgId }: Owner, body: InviteUser): Promise<number> =>
  orgId === null
    ? insertPartnerMember(db, { userId, partnerId, roleId: body.roleId }, body)
    : insertOrganizationMember(db, { userId, partnerId, orgId, roleId: body.roleId }, body)

/** Whether the mail is on its way: false where this server sends none. */
async function sendLink(
  ctx: InviteCtx<unknown>,
  owner: Owner,
  { id, name, email }: { id: string; name: string; email: string },
): Promise<boolean> {
  const [tenant, { link, until }] = [await tenantName(ctx.db, owner), await issueLink(ctx, id, 'invite')]
  const invitedBy = 'email' in ctx.actor ? ctx.actor.email : 'An administrator'
  const data = { link, until, tenant: tenant?.name ?? '', invitedBy }
  return queueMail(ctx, { to: { name, email }, kind: 'invite', data })
}

function aboutInvited(owner: Owner, id: string, email: string, details: Record<string, unknown>) {
  const { partnerId, orgId } = owner
  return { type: 'user', id, name: email, partnerId, ...(orgId !== null && { orgId }), details }
}
