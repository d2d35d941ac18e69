import { z } from 'zod'
import type { Clock } from '../../../../adapters/clock.ts'
import type { Config } from '../../../../config.ts'
import { type MailPorts, queueMail } from '../../../../engines/mail/queue.ts'
import { enqueue } from '../../../../engines/schedule/queue/enqueue.ts'
import { task } from '../../../../engines/schedule/queue/task.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { withinLimit } from '../../../../kernel/limits.ts'
import { issueLink } from '../links/service.ts'
import { findForgetful } from './queries.ts'
import type { Accepted, ForgotPassword } from './schema.ts'

export type ForgotPorts = MailPorts & { clock: Clock; config: Pick<Config, 'mail' | 'publicUrl'> }

/** Looks whether there is such an account, and mails it a link. */
export const forgotTask = task<z.ZodObject<{ email: z.ZodString }>, ForgotPorts>({
  name: 'auth.forgot-password',
  payload: z.object({ email: z.string() }),
  maxAttempts: 5,
  timeoutMs: 30_000,
  run: async ({ email }, { db, ports }) => {
    const account = await findForgetful(db, email)
    if (!account) return
    await db.tx(async (tx) => {
      const data = await issueLink({ db: tx, ports }, account.id, 'reset_password')
      await queueMail({ db: tx, ports }, { to: account, kind: 'reset-password', data })
    })
  },
})

type ForgotCtx = Ctx<Record<string, never>, unknown, ForgotPassword>

/** Before the transaction: an account gets three mails an hour. Counted for addresses that nobody has, too, and never told. */
export const mayMail = ({ ports, body }: ForgotCtx): Promise<boolean> =>
  withinLimit(ports.limits.hit('forgot-password-account', { email: body.email }))

/** Enqueues the same job for every address: neither words nor time tell whether it has an account. */
export async function forgotPassword({ db, body }: ForgotCtx, allowed: boolean): Promise<Accepted> {
  if (allowed) await enqueue(db, forgotTask, { email: body.email })
  return { accepted: true }
}
