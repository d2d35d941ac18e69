import { Registry } from 'prom-client'
import { afterAll } from 'vitest'
import type { Shown } from '../../src/adapters/shown.ts'
import { startQueue } from '../../src/engines/schedule/queue/queue.ts'
import { tasks } from '../../src/jobs.ts'
import type { TestApp } from './app.ts'
import { eventually } from './pipeline.ts'

/** What leaves the house in a test: a worker of the product's own sends it, and it is shown. */
export function outboxOf(t: TestApp) {
  const log = { info: () => undefined, warn: () => undefined, error: console.error }
  const { pipeline } = t.config
  const queue = startQueue({
    db: t.db,
    ports: { ...t.core.ports },
    tasks,
    log,
    metrics: new Registry(),
    pipeline: { ...pipeline, jobPollMs: 100 },
    drainMs: 1_000,
  })
  afterAll(() => queue.close())

  /** All jobs are done. */
  const settled = () =>
    eventually(async () => {
      const [row] = await t.owner<{ left: number }[]>`
        select count(*)::int as left from graphile_worker._private_jobs where attempts < max_attempts`
      return row?.left === 0
    }, 'all jobs to be done')

  const to = async (address: string, by: Shown['by'] = 'mail'): Promise<Shown[]> => {
    await settled()
    return t.shown.filter((it) => it.by === by && it.to === address)
  }
  return {
    settled,
    /** Mails to an address, once all jobs are done. */
    mailsTo: to,
    /** The token of the last link that was mailed to it. */
    tokenFor: async (address: string): Promise<string> => {
      const link = (await to(address)).findLast((mail) => mail.link !== null)?.link
      return new URLSearchParams(new URL(link ?? 'http://none').hash.slice(1)).get('token') ?? ''
    },
    /** The code of the last text message to a number. */
    codeFor: (number: string): string =>
      /\d{6}/.exec(t.shown.findLast((it) => it.by === 'sms' && it.to === number)?.text ?? '')?.[0] ?? '',
  }
}
