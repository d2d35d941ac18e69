import { shardCount } from '@svc/proto/bus'
import type { Registry } from 'prom-client'
import type { WorkerDb } from '../kernel/db.ts'
import { askedGauges } from '../kernel/gauges.ts'
import type { Db } from '../kernel/tenancy.ts'

/**
 * Asks the database at each scrape how far what gateways said is behind, in the worst place: streams that nobody works off are seen by
 * it, which neither gateways nor what was taken in can tell. NaN where it does not answer.
 */
export function lagMetrics(
  registry: Registry,
  db: WorkerDb,
  log: { warn(details: object, message: string): void },
): void {
  askedGauges(registry, {
    gauges: {
      svc_inbox_watermark_age_seconds:
        'How old the newest moment is until which all is taken in that gateways said, of the gateway and shard that are furthest behind.',
    },
    ask: async () => ({ svc_inbox_watermark_age_seconds: (await watermarkAge(db)) ?? 0 }),
    failed: (error) => log.warn({ err: error }, 'it could not be asked how far the streams are behind'),
  })
}

/** Seconds; of gateways with a lease alone, since what one said that is gone is taken over by nobody. Undefined: there is none. */
const watermarkAge = async (db: Db): Promise<number | undefined> => {
  const row = await db.one<{ age: number | null }>`
    select extract(epoch from now() - min(coalesce(w.through, n.started_at)))::float8 as age
    from gateway_nodes n cross join generate_series(0, ${shardCount - 1}::int) as s (shard)
    left join edge_watermarks w on w.node = n.node and w.shard = s.shard
    where n.lease_until > now()`
  return row?.age ?? undefined
}
