import type { Registry } from 'prom-client'
import type { WorkerDb } from '../../kernel/db.ts'
import { askedGauges } from '../../kernel/gauges.ts'
import type { Db } from '../../kernel/tenancy.ts'

/**
 * Asks the database at each scrape whether it gets rid of its log: what it cannot archive fills its disk, and is missing when a
 * backup is to be brought to a point in time. 0 where nothing is archived; NaN where the database does not answer.
 */
export function archiveMetrics(
  registry: Registry,
  db: WorkerDb,
  log: { warn(details: object, message: string): void },
): void {
  askedGauges(registry, {
    gauges: { svc_database_archive_failing: 'Whether the last piece of the log could not be archived.' },
    ask: async () => ({ svc_database_archive_failing: (await archiveFails(db)) ? 1 : 0 }),
    failed: (error) => log.warn({ err: error }, 'it could not be asked whether the log is archived'),
  })
}

/** Since the last success, if there ever was one. */
const archiveFails = async (db: Db): Promise<boolean> => {
  const row = await db.one<{ failing: boolean }>`
    select last_failed_time > coalesce(last_archived_time, '-infinity') as failing from pg_stat_archiver`
  return row?.failing === true
}
