import type { Ctx } from '../../../../kernel/context.ts'
import type { LoginAnswer } from '../login/schema.ts'
import { completeLogin } from '../login/service.ts'
import { type LinkHolder, setPassword } from '../links/queries.ts'
import { invalidLink, readLink, useLink } from '../links/service.ts'
import { hashChosen } from '../password/service.ts'
import { endSessions } from '../session/queries.ts'
import { aboutUser } from '../session/service.ts'
import { activateAccount, findTenantName } from './queries.ts'
import type { AcceptInvite, InvitePreview, PreviewInvite } from './schema.ts'

type AcceptCtx = Ctx<Record<string, never>, unknown, AcceptInvite>

/** An invitation that can be accepted, and the hash of the password that was chosen. */
export interface Accepted {
  holder: LinkHolder
  passwordHash: string
}

/** An account that was disabled, or whose tenants are all suspended, cannot log in: its link is as an unknown one. */
async function invitationOf(ctx: Pick<AcceptCtx, 'db' | 'ports'>, token: string): Promise<LinkHolder> {
  const holder = await readLink(ctx, 'invite', token)
  if (holder.status === 'disabled' || holder.partnerId === null) throw invalidLink()
  return holder
}

/** What the page shows before a password is chosen; the link stays good. @throws ApiError 400 LINK_INVALID */
export async function previewInvite(
  ctx: Ctx<Record<string, never>, unknown, PreviewInvite>,
): Promise<InvitePreview> {
  const { email, name, partnerId, orgId } = await invitationOf(ctx, ctx.body.token)
  if (partnerId === null) throw invalidLink()
  const db = await ctx.establish({ kind: 'tenant', partnerId, orgs: orgId === null ? 'all' : [orgId] })
  const tenant = await findTenantName(db, { partnerId, orgId })
  return { email, name, tenantName: tenant?.name ?? '' }
}

/** Before any transaction: whose link it is, and whether the password will do. @throws ApiError 400 LINK_INVALID, WEAK_PASSWORD */
export async function checkAcceptance(ctx: AcceptCtx): Promise<Accepted> {
  const holder = await invitationOf(ctx, ctx.body.token)
  return { holder, passwordHash: await hashChosen(ctx, holder, ctx.body.password) }
}

/** Uses the link up: the account has its password and is `active`, and its owner is logged in as by `POST /auth/login`. */
export async function acceptInvite(ctx: AcceptCtx, { holder, passwordHash }: Accepted): Promise<LoginAnswer> {
  const { db, body, ports } = ctx
  const at = ports.clock.now()
  if ((await useLink(ctx, 'invite', body.token)) !== holder.id) throw invalidLink()
  await setPassword(db, holder.id, passwordHash, at)
  if (!(await activateAccount(db, holder.id, at))?.activated) throw invalidLink()
  const ended = await endSessions(db, holder.id, 'invite accepted', at)
  if (!ended) throw invalidLink()
  const account = {
    ...holder,
    authEpoch: ended.epoch,
    status: 'active',
    passwordHash,
    associated: true,
  } as const
  const answer = await completeLogin(ctx, { account, betterHash: undefined })
  // The login that waits for a second factor leaves no row; this does.
  const actor = { type: 'user', id: holder.id, email: holder.email } as const
  ctx.audited({ ...aboutUser(holder), actor, details: { loggedIn: !answer.mfaRequired } })
  ctx.after(() => ports.callers.changed(holder.id))
  return answer
}
