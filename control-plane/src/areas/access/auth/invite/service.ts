import { tokenHash } from '@svc/proto'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import { countingGuess } from '../../../../kernel/points.ts'
import type { LoginAnswer } from '../login/schema.ts'
import {
  askForSecondFactor,
  checkCredentials,
  completeLogin,
  findLoginAccount,
  type Proven,
  secondFactorOf,
} from '../login/service.ts'
import { invalidLink } from '../links/service.ts'
import { hashGood } from '../password/service.ts'
import { aboutUser, requireOwner } from '../session/service.ts'
import {
  accept,
  acceptanceOf,
  answerWithoutLogin,
  demandsSso,
  finish,
  homeAfter,
  note,
} from './acceptance.ts'
import { type Acceptance, type Invitation, readInvitation } from './queries.ts'
import type { AcceptInvite, InvitePreview, PreviewInvite } from './schema.ts'

type AcceptCtx = Ctx<Record<string, never>, unknown, AcceptInvite>

/** What was shown besides the link: a password for an account that is nobody's yet, an account's own password, or its login. */
export type Shown =
  | { kind: 'chosen'; hash: string }
  | { kind: 'password'; proven: Proven }
  | { kind: 'login'; account: string }

/** An account that was disabled gets nothing by a link, and is told nothing, as long as it belongs to something: then it is nobody's. */
async function invitationOf(
  { db, ports }: Pick<AcceptCtx, 'db' | 'ports'>,
  token: string,
): Promise<Invitation> {
  const invitation = await readInvitation(db, tokenHash(token), ports.clock.now())
  if (!invitation || (invitation.account !== null && invitation.accountStatus === 'disabled'))
    throw invalidLink()
  return invitation
}

/** What the page shows before anything is accepted; the link stays good. @throws ApiError 400 LINK_INVALID */
export async function previewInvite(
  ctx: Ctx<Record<string, never>, unknown, PreviewInvite>,
): Promise<InvitePreview> {
  const { email, name, tenantName, account } = await invitationOf(ctx, ctx.body.token)
  return { email, name, tenantName, accountKnown: account !== null }
}

/**
 * Before any transaction: what the link is to, and whether what was shown beside it will do. A link that was forwarded must not
 * make its reader a member in the name of somebody who has an account.
 *
 * @throws ApiError 400 LINK_INVALID, WEAK_PASSWORD, and where a password is needed and none came; 401 for a wrong one, 429
 */
export async function checkAcceptance(ctx: AcceptCtx): Promise<Shown> {
  const invitation = await invitationOf(ctx, ctx.body.token)
  const { account, email } = invitation
  const { caller } = ctx
  if (
    account !== null &&
    caller.sessionId !== undefined &&
    caller.actor.type === 'user' &&
    caller.actor.id === account
  ) {
    await requireOwner(ctx)
    return { kind: 'login', account }
  }
  const { password } = ctx.body
  if (password === undefined) throw missing()
  if (account !== null) {
    // The same password as at a login, and so the same guesses: who has the link is not to have more of them.
    const { ip } = ctx.client
    const check = () => checkCredentials(ctx, { email, password }, true)
    return { kind: 'password', proven: await countingGuess(ctx.ports.limits, 'login', { ip, email }, check) }
  }
  return { kind: 'chosen', hash: await hashGood(ctx, invitation, password, invitation) }
}

/**
 * Uses the link up: the invitation becomes a membership. Answers as `POST /auth/login` does; with a second factor nothing is accepted
 * before its code, and a login that is there goes on as it is.
 */
export async function acceptInvite(ctx: AcceptCtx, shown: Shown): Promise<LoginAnswer> {
  const link = tokenHash(ctx.body.token)
  if (shown.kind === 'login') return acceptSignedIn(ctx, link, shown.account)
  if (shown.kind === 'password') return acceptWithPassword(ctx, link, shown.proven)
  const accepted = await accept(ctx, link, { hash: shown.hash })
  const account = await findLoginAccount(ctx.db, accepted.email)
  if (!account) throw invalidLink()
  // Of somewhere else already, where a provider alone opens: a member here from now on. Of here alone: the provider accepts it.
  if (account.demandedBy !== null && account.demandedBy !== accepted.orgId)
    return answerWithoutLogin(ctx, account, accepted)
  return logInAfter(ctx, { account, betterHash: undefined }, accepted)
}

async function acceptSignedIn(ctx: AcceptCtx, link: Buffer, account: string): Promise<LoginAnswer> {
  const accepted = await accept(ctx, link, { account })
  const user = await findLoginAccount(ctx.db, accepted.email)
  if (!user) throw invalidLink()
  return answerWithoutLogin(ctx, user, accepted)
}

async function acceptWithPassword(ctx: AcceptCtx, link: Buffer, proven: Proven): Promise<LoginAnswer> {
  const { account } = proven
  const mfaMethod = secondFactorOf(ctx, account)
  if (mfaMethod !== null) return askForSecondFactor(ctx, account, mfaMethod, { invite: link })
  const accepted = await accept(ctx, link, { account: account.id })
  if (await demandsSso(ctx, account)) return answerWithoutLogin(ctx, account, accepted)
  const home = homeAfter(account, accepted)
  const answer = await logInAfter(ctx, { ...proven, account: { ...account, ...home } }, accepted)
  // The login is of where the account belongs, and that tenant's to know of.
  const { partnerId } = home
  if (partnerId !== null) {
    const actor = { type: 'user', id: account.id, email: account.email } as const
    note(ctx, 'user.login', {
      ...aboutUser({ ...account, ...home }),
      partnerId,
      actor,
      details: { mfa: false },
    })
  }
  return answer
}

async function logInAfter(ctx: AcceptCtx, proven: Proven, accepted: Acceptance): Promise<LoginAnswer> {
  const answer = await completeLogin(ctx, proven)
  await finish(ctx, acceptanceOf(proven.account, accepted, { loggedIn: true }), accepted)
  return answer
}

const missing = () =>
  new ApiError('VALIDATION_ERROR', 'a password is needed, or a login of the invited account', {
    details: [{ in: 'body', field: 'password', message: 'is missing' }],
  })
