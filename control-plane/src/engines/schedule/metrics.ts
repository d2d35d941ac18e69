import type { Registry } from 'prom-client'
import type { WorkerDb } from '../../kernel/db.ts'
import { askedGauges } from '../../kernel/gauges.ts'
import { overdue } from './due.ts'

/** Asks the database at each scrape how late schedules are: NaN where it does not answer. */
export function scheduleMetrics(
  registry: Registry,
  db: WorkerDb,
  log: { warn(details: object, message: string): void },
): void {
  askedGauges(registry, {
    gauges: {
      svc_schedules_due_age_seconds: 'How long the oldest due moment of a schedule has waited.',
      svc_schedules_held: 'Schedules that are due and could not be acted upon.',
    },
    ask: async () => {
      const found = await overdue(db)
      return found && { svc_schedules_due_age_seconds: found.ageSeconds, svc_schedules_held: found.held }
    },
    failed: (error) => log.warn({ err: error }, 'due schedules could not be counted'),
  })
}
