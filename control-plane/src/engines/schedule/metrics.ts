import { Gauge, type Registry } from 'prom-client'
import type { WorkerDb } from '../../kernel/db.ts'
import { overdue } from './due.ts'

/** Asks the database at each scrape how late schedules are: NaN where it does not answer. */
export function scheduleMetrics(
  registry: Registry,
  db: WorkerDb,
  log: { warn(details: object, message: string): void },
): void {
  for (const name of ['svc_schedules_due_age_seconds', 'svc_schedules_held'])
    registry.removeSingleMetric(name)
  const registers = [registry]
  const held = new Gauge({
    name: 'svc_schedules_held',
    help: 'Schedules that are due and could not be acted upon.',
    registers,
  })
  new Gauge({
    name: 'svc_schedules_due_age_seconds',
    help: 'How long the oldest due moment of a schedule has waited.',
    registers,
    async collect() {
      const found = await overdue(db).catch((error: unknown) => {
        log.warn({ err: error }, 'due schedules could not be counted')
        return undefined
      })
      this.set(found?.ageSeconds ?? Number.NaN)
      held.set(found?.held ?? Number.NaN)
    },
  })
}
