import type { TestApp } from './app.ts'

/** A mail that waits in the queue, its seal broken as the worker would. */
export interface QueuedMail {
  to: { name: string; email: string }
  kind: string
  data: Record<string, unknown>
}

/** Mails to an address, in the order in which they were queued. */
export async function mailsTo({ owner, core }: TestApp, email: string): Promise<QueuedMail[]> {
  const jobs = await owner<{ payload: { id: string; sealed: string } }[]>`
    select j.payload from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
    where t.identifier = 'mail.send' order by j.id`
  return jobs
    .map(({ payload: { id, sealed } }) => {
      const place = { table: 'jobs', column: 'mail', row: id, org: null }
      return JSON.parse(
        core.ports.secrets.open(Buffer.from(sealed, 'base64'), place).toString(),
      ) as QueuedMail
    })
    .filter(({ to }) => to.email === email)
}

/** The token of the newest link that was mailed to an address. */
export async function linkTokenOf(app: TestApp, email: string): Promise<string> {
  const link = String((await mailsTo(app, email)).at(-1)?.data['link'])
  return /#token=(.+)$/.exec(link)?.[1] ?? ''
}
