import type { Registry } from 'prom-client'
import type { WorkerDb } from '../../kernel/db.ts'
import { askedGauges } from '../../kernel/gauges.ts'
import { backlog } from './rows.ts'

/** Asks the database at each scrape how far sealing is behind: NaN where it does not answer. */
export function sealingMetrics(
  registry: Registry,
  db: WorkerDb,
  log: { warn(details: object, message: string): void },
): void {
  askedGauges(registry, {
    gauges: {
      svc_audit_unsealed_rows: 'Rows of the audit log that are in no chain yet.',
      svc_audit_sealing_lag_seconds: 'How long the oldest of them has waited.',
      svc_audit_heads_owed: 'Ends of chains that are not told outside of the database yet.',
    },
    ask: async () => {
      const found = await backlog(db)
      return (
        found && {
          svc_audit_unsealed_rows: found.unsealed,
          svc_audit_sealing_lag_seconds: found.lagSeconds,
          svc_audit_heads_owed: found.headsOwed,
        }
      )
    },
    failed: (error) => log.warn({ err: error }, 'rows that wait to be sealed could not be counted'),
  })
}
