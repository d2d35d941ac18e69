import { Counter, type Registry } from 'prom-client'
import type { WorkerDb } from '../../../kernel/db.ts'
import { askedGauges } from '../../../kernel/gauges.ts'
import { backlog } from './rows.ts'
import type { TaskLog } from './task.ts'

/** What became of a run: `failed` is for good, `retried` will be tried again, `released` was broken off because the process ended. */
export type Outcome = 'done' | 'retried' | 'failed' | 'released'

export interface JobMetrics {
  ended(task: string, outcome: Outcome): void
}

/** Counts jobs, and asks the database at each scrape what waits: NaN where it does not answer. */
export function jobMetrics(registry: Registry, db: WorkerDb, log: TaskLog): JobMetrics {
  registry.removeSingleMetric('svc_jobs_total')
  const total = new Counter({
    name: 'svc_jobs_total',
    help: 'Runs of jobs, and what became of them.',
    labelNames: ['task', 'outcome'],
    registers: [registry],
  })
  askedGauges(registry, {
    gauges: {
      svc_jobs_due_age_seconds: 'How long the oldest due job has waited.',
      svc_jobs_waiting: 'Jobs that are due and wait for a worker.',
    },
    ask: async () => {
      const found = await backlog(db)
      return found && { svc_jobs_due_age_seconds: found.ageSeconds, svc_jobs_waiting: found.waiting }
    },
    failed: (error) => log.warn({ err: error }, 'waiting jobs could not be counted'),
  })
  return { ended: (task, outcome) => total.inc({ task, outcome }) }
}
