import type { Registry } from 'prom-client'
import type { WorkerDb } from '../../kernel/db.ts'
import { askedGauges } from '../../kernel/gauges.ts'
import type { Db } from '../../kernel/tenancy.ts'

/**
 * Asks the database at each scrape how old the last base backup is, as `infra/backup/base-backup.sh` has told it. Where there was none
 * and the log is archived, there should have been one since this database began. NaN where nothing tells of backups, or it does not answer.
 */
export function baseBackupMetrics(
  registry: Registry,
  db: WorkerDb,
  log: { warn(details: object, message: string): void },
): void {
  askedGauges(registry, {
    gauges: {
      svc_database_base_backup_age_seconds:
        'How long ago the last base backup was made and checked; if none was and the log is archived, since this database began.',
    },
    ask: async () => ({ svc_database_base_backup_age_seconds: (await age(db)) ?? Number.NaN }),
    failed: (error) => log.warn({ err: error }, 'it could not be asked when the last base backup was made'),
  })
}

const age = async (db: Db): Promise<number | undefined> => {
  const row = await db.one<{ age: number | null }>`
    select extract(epoch from now() - coalesce((select b.finished_at from base_backup b),
      (select min(l.began_at) from database_lives l where current_setting('archive_mode') <> 'off')))::float8 as age`
  return row?.age ?? undefined
}
