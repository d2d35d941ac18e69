import { writeAudits } from '../../../../kernel/audit.ts'
import type { AuditSubject, Ctx } from '../../../../kernel/context.ts'
import type { Scope } from '../../../../kernel/tenancy.ts'
import { invalidLink } from '../links/service.ts'
import { findPasswordHome, type Holder } from '../session/queries.ts'
import type { Account } from '../session/schema.ts'
import { type Acceptance, acceptInvitation } from './queries.ts'

type Who = { id: string; email: string }
type Home = { partnerId: string | null; orgId: string | null }

/** Uses the link up; the membership is there. @throws ApiError 400 LINK_INVALID, and nothing may be committed */
export async function accept(
  ctx: Pick<Ctx, 'db' | 'ports' | 'after'>,
  link: Buffer,
  by: Parameters<typeof acceptInvitation>[2],
): Promise<Acceptance> {
  const { db, ports } = ctx
  const accepted = await acceptInvitation(db, link, by, ports.clock.now())
  if (!accepted) throw invalidLink()
  ctx.after(() => ports.callers.changed(accepted.userId))
  return accepted
}

/** With the second factor of the login that an invitation waits for. @throws ApiError 400 LINK_INVALID */
export const acceptAwaited = (ctx: Pick<Ctx, 'db' | 'ports' | 'after'>, { id }: Who, link: Buffer) =>
  accept(ctx, link, { account: id })

/** Where the login is for: what was accepted draws nobody's logins away from where they belong. */
export const homeAfter = ({ partnerId, orgId }: Home, accepted: Acceptance): Home =>
  partnerId === null ? { partnerId: accepted.partnerId, orgId: accepted.orgId } : { partnerId, orgId }

/** The row of an acceptance: the inviting tenant's, as its new member's own act. */
export function acceptanceOf(
  { id, email }: Who,
  accepted: Acceptance,
  details: Record<string, unknown> = {},
) {
  const { partnerId, orgId, invitationId } = accepted
  return {
    type: 'user',
    id,
    name: email,
    partnerId,
    ...(orgId !== null && { orgId }),
    actor: { type: 'user', id, email },
    details: { invitationId, ...details },
  } as const
}

/** Beside the row of a login that accepts an invitation too. */
export const noteAcceptance = (ctx: RowCtx, who: Who, accepted: Acceptance): void =>
  note(ctx, 'user.invite.accept', acceptanceOf(who, accepted))

/** Whoever sends the request, with whatever other login: the row is the inviting tenant's. */
export async function finish(
  ctx: Pick<Ctx, 'establish' | 'audited'>,
  row: ReturnType<typeof acceptanceOf>,
  { partnerId, orgId }: Acceptance,
): Promise<void> {
  await ctx.establish({ kind: 'tenant', partnerId, orgs: orgId === null ? 'all' : [orgId] })
  ctx.audited({ action: 'user.invite.accept', ...row })
}

/** Does nothing that the account belongs to by now take a password? Then it is a member, and logs in where that says. */
export const demandsSso = async ({ db }: Pick<Ctx, 'db'>, { id }: Pick<Who, 'id'>): Promise<boolean> =>
  ((await findPasswordHome(db, id))?.demandedBy ?? null) !== null

/** The membership is there; there are no tokens with it. */
export async function answerWithoutLogin(
  ctx: Pick<Ctx, 'establish' | 'audited'>,
  { id, email, name, avatarUrl }: Pick<Holder, 'id' | 'email' | 'name' | 'avatarUrl'>,
  accepted: Acceptance,
): Promise<{ mfaRequired: false; user: Account }> {
  await finish(ctx, acceptanceOf({ id, email }, accepted, { loggedIn: false }), accepted)
  return { mfaRequired: false, user: { id, email, name, avatarUrl } }
}

type RowCtx = Pick<Ctx, 'db' | 'client' | 'ports'>

/** A row beside the one that the kernel writes, of another tenant's, perhaps. */
export function note(
  { db, client, ports }: RowCtx,
  action: string,
  subject: AuditSubject & Required<Pick<AuditSubject, 'actor' | 'partnerId'>>,
): void {
  const scope: Scope = { kind: 'tenant', partnerId: subject.partnerId, orgs: 'all' }
  const { actor } = subject
  writeAudits(db, [{ action, result: 'success', actor, subject, client, scope, at: ports.clock.now() }])
}
