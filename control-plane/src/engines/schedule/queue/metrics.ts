import { Counter, Gauge, type Registry } from 'prom-client'
import type { WorkerDb } from '../../../kernel/db.ts'
import { backlog } from './rows.ts'
import type { TaskLog } from './task.ts'

/** What became of a run: `failed` is for good, `retried` will be tried again, `released` was broken off because the process ended. */
export type Outcome = 'done' | 'retried' | 'failed' | 'released'

export interface JobMetrics {
  ended(task: string, outcome: Outcome): void
}

/** Counts jobs, and asks the database at each scrape what waits: NaN where it does not answer. */
export function jobMetrics(registry: Registry, db: WorkerDb, log: TaskLog): JobMetrics {
  for (const name of ['svc_jobs_total', 'svc_jobs_due_age_seconds', 'svc_jobs_waiting'])
    registry.removeSingleMetric(name)
  const registers = [registry]
  const total = new Counter({
    name: 'svc_jobs_total',
    help: 'Runs of jobs, and what became of them.',
    labelNames: ['task', 'outcome'],
    registers,
  })
  const age = new Gauge({
    name: 'svc_jobs_due_age_seconds',
    help: 'How long the oldest due job has waited.',
    registers,
  })
  new Gauge({
    name: 'svc_jobs_waiting',
    help: 'Jobs that are due and wait for a worker.',
    registers,
    async collect() {
      const found = await backlog(db).catch((error: unknown) => {
        log.warn({ err: error }, 'waiting jobs could not be counted')
        return undefined
      })
      this.set(found?.waiting ?? Number.NaN)
      age.set(found?.ageSeconds ?? Number.NaN)
    },
  })
  return { ended: (task, outcome) => total.inc({ task, outcome }) }
}
