import { z } from 'zod'
import type { Db } from '../../kernel/tenancy.ts'
import { prune } from './prune.ts'
import { enqueue } from './queue/enqueue.ts'
import { pruneFailed } from './queue/rows.ts'
import { task } from './queue/task.ts'

/** What is kept for days, and is looked through each night. */
export const slowlyPruned = [
  'refresh_families',
  'refresh_tokens',
  'user_tokens',
  'revocations',
  'device_past_tokens',
  'outbox',
  'gateway_nodes',
  'edge_watermarks',
  'schedule_entries',
  'schedule_runs',
  'failed_jobs',
] as const

/** Removes what has had its time. */
export const pruneTask = task({
  name: 'prune',
  payload: z.object({ what: z.enum(slowlyPruned) }),
  maxAttempts: 3,
  timeoutMs: 600_000,
  run: async ({ what }, { db, log }) => {
    const removed = await (what === 'failed_jobs' ? pruneFailed(db) : prune(db, what))
    if (removed > 0) log.info({ what, removed }, 'what has had its time is removed')
  },
})

/** One job for each; those that wait still are not doubled. Jobs that run one after another leave workers to others. */
export async function enqueuePrunes(db: Db): Promise<void> {
  for (const what of slowlyPruned)
    await enqueue(db, pruneTask, { what }, { key: `prune:${what}`, queue: 'prune' })
}
