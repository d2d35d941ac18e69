import type { Clock } from '../../adapters/clock.ts'
import { v7 as uuid } from 'uuid'
import { z } from 'zod'
import { MailRefused, type Mailer } from '../../adapters/mail/mail.ts'
import type { SecretPlace, Secrets } from '../../adapters/secrets.ts'
import type { Config } from '../../config.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { enqueue } from '../schedule/queue/enqueue.ts'
import { FinalError, task } from '../schedule/queue/task.ts'
import { type MailData, type MailKind, mailKinds, wordsOf } from './mails.ts'
import { render } from './render.ts'

/** What sending needs of the process. */
export interface MailPorts {
  clock: Clock
  secrets: Secrets
  mailer: Mailer
}

export interface QueueMail<K extends MailKind> {
  to: { name: string; email: string }
  kind: K
  data: MailData<K>
}

/** A job is no row of ours, but its payload is as little to be moved: what is sealed for one mail opens for no other. */
export const mailPlace = (id: string): SecretPlace => ({ table: 'jobs', column: 'mail', row: id, org: null })

const Sealed = z.object({
  to: z.object({ name: z.string(), email: z.string() }),
  kind: z.enum(mailKinds),
  data: z.record(z.string(), z.unknown()),
})

/** Pauses grow from seconds to six hours: a server that is away for a day gets it still, unless its link is over by then. */
const attempts = 14

/**
 * Sends a mail. Its payload holds a link that opens an account, so it is sealed. One whose link is over is not sent: it would only
 * annoy. A refusal for good ends the job, which says so in the log and in `svc_jobs_total`.
 */
export const mailTask = task<z.ZodObject<{ id: z.ZodUUID; sealed: z.ZodBase64 }>, MailPorts>({
  name: 'mail.send',
  payload: z.object({ id: z.uuid(), sealed: z.base64() }),
  maxAttempts: attempts,
  timeoutMs: 90_000,
  run: async ({ id, sealed }, { ports, log }) => {
    const opened = ports.secrets.open(Buffer.from(sealed, 'base64'), mailPlace(id)).toString()
    const { to, kind, data } = Sealed.parse(JSON.parse(opened))
    const words = wordsOf(kind, data)
    if (words.action && words.action.until <= ports.clock.now())
      return log.warn({ mail: id, kind }, 'a mail was not sent in time: its link is over')
    try {
      await ports.mailer.send({ id, to: { name: to.name, address: to.email }, ...render(words) })
    } catch (error) {
      if (error instanceof MailRefused) throw new FinalError(`the ${kind} mail: ${error.message}`)
      throw error
    }
  },
})

/**
 * Sends a mail when the caller's transaction commits, by a job: nobody waits for a mail server.
 *
 * @returns false where this server sends no mail at all (SMTP_URL is not set in production): nobody will get it
 */
export async function queueMail<K extends MailKind>(
  { db, ports }: { db: Db; ports: { secrets: Secrets; config: Pick<Config, 'mail'> } },
  { to, kind, data }: QueueMail<K>,
): Promise<boolean> {
  if (!ports.config.mail) return false
  const id = uuid()
  const sealed = ports.secrets.seal(JSON.stringify({ to, kind, data }), mailPlace(id)).toString('base64')
  await enqueue(db, mailTask, { id, sealed })
  return true
}
