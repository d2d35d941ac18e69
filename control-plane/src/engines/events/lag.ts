import type { Registry } from 'prom-client'
import type { WorkerDb } from '../../kernel/db.ts'
import { askedGauges } from '../../kernel/gauges.ts'
import type { Db } from '../../kernel/tenancy.ts'

/** No more are counted. */
const most = 100_000

/** Asks the database at each scrape which events wait to be told: NaN where it does not answer. */
export function outboxMetrics(
  registry: Registry,
  db: WorkerDb,
  log: { warn(details: object, message: string): void },
): void {
  askedGauges(registry, {
    gauges: {
      svc_outbox_waiting: `Events that are not told to everybody yet, ${most} at most.`,
      svc_outbox_oldest_seconds: 'How long the oldest of them has waited.',
    },
    ask: async () => {
      const found = await waiting(db)
      return found && { svc_outbox_waiting: found.waiting, svc_outbox_oldest_seconds: found.oldest }
    },
    failed: (error) => log.warn({ err: error }, 'events that wait could not be counted'),
  })
}

const waiting = (db: Db) => db.one<{ waiting: number; oldest: number }>`
  select (select count(*) from (select 1 from outbox o where o.relayed_at is null limit ${most}) o)::float8 as waiting,
    coalesce(extract(epoch from now() - (select min(o.at) from outbox o where o.relayed_at is null)), 0)::float8 as oldest`
