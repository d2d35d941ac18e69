import type { Ctx } from '../../../../kernel/context.ts'
import { queueMail } from '../../../../engines/mail/queue.ts'
import { type LinkHolder, setPassword } from '../links/queries.ts'
import { invalidLink, readLink, useLink } from '../links/service.ts'
import { endSessions, findPasswordHome } from '../session/queries.ts'
import { aboutUser, homeOf } from '../session/service.ts'
import type { ResetPassword } from './schema.ts'
import { hashChosen } from './service.ts'

type ResetCtx = Ctx<Record<string, never>, unknown, ResetPassword>

/** Whose link it is, and the new password's hash. */
export interface Chosen {
  holder: LinkHolder
  hash: string
}

/** Before the transaction. A weak password leaves the link as good as it was. @throws ApiError 400 LINK_INVALID, WEAK_PASSWORD */
export async function checkReset(ctx: ResetCtx): Promise<Chosen> {
  const holder = await readLink(ctx, 'reset_password', ctx.body.token)
  // Who was disabled since gets nothing by it, and is told nothing.
  if (holder.status !== 'active') throw invalidLink()
  // Nor who belongs only to what has come to demand single sign-on.
  if ((await findPasswordHome(ctx.db, holder.id))?.demandedBy) throw invalidLink()
  return { holder, hash: await hashChosen(ctx, holder, ctx.body.password) }
}

/** One use of a link, whatever comes at the same time. Every session ends, and nobody is logged in by it: a second factor stays asked for. */
export async function resetPassword(ctx: ResetCtx, { holder, hash }: Chosen): Promise<undefined> {
  const { db, ports } = ctx
  const at = ports.clock.now()
  const userId = await useLink(ctx, 'reset_password', ctx.body.token)
  await setPassword(db, userId, hash, at)
  await endSessions(db, userId, 'password reset', at)
  const { name, email } = holder
  await queueMail(ctx, { to: { name, email }, kind: 'password-changed', data: { at } })
  // Whoever sends the request, with whatever other login: the row is of the account's tenant.
  await ctx.establish(homeOf(holder))
  ctx.audited({ ...aboutUser(holder), actor: { type: 'user', id: userId, email } })
  ctx.after(() => ports.callers.changed(userId))
  return undefined
}
