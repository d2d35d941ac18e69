import type { Clock } from '../../../../adapters/clock.ts'
import type { Snapshot } from '../../../../kernel/db.ts'
import type { Outflow } from '../../../../kernel/stream.ts'
import { requireOrganization } from '../place/service.ts'
import type { AuditRow, Filter } from '../entries/schema.ts'
import { allEntries, countEntries } from './queries.ts'
import { written } from './rows.ts'
import { columnNames, type ExportColumn, type ExportFormat, mostRows } from './schema.ts'

/** Rows that are in memory at once; about a megabyte. */
const batchRows = 1_000

/** An export holds a connection for as long as its reader takes: most of the pool is for everybody else. */
export const exportsAtOnce = (poolSize: number): number => Math.max(1, Math.min(4, Math.floor(poolSize / 4)))

export interface Asked {
  format: ExportFormat
  filter: Filter
  columns?: readonly ExportColumn[] | undefined
  includeDetails: boolean
}

const mediaTypes = { csv: 'text/csv; charset=utf-8; header=present', json: 'application/json; charset=utf-8' }

/** What the caller sees of the log at this moment. Counted first, so that its row in the log and its headers say how much it is. */
export async function exportLog(
  db: Snapshot,
  clock: Clock,
  { format, filter, columns = columnNames, includeDetails }: Asked,
): Promise<Outflow> {
  await requireOrganization(db, filter.orgId)
  const found = await countEntries(db, filter, mostRows + 1)
  const counted = { rows: Math.min(found, mostRows), truncated: found > mostRows }
  const shown = columns.filter((column) => includeDetails || column !== 'details')
  const batches = db.batches<AuditRow>(batchRows, allEntries(db, filter, mostRows))
  return {
    type: mediaTypes[format],
    name: `audit-${clock.now().toISOString().slice(0, 10)}.${format}`,
    headers: { 'svc-export-rows': String(counted.rows), 'svc-export-truncated': String(counted.truncated) },
    pieces: written(format, batches, shown, counted),
    subject: {
      type: 'audit_log',
      ...(filter.orgId && { orgId: filter.orgId }),
      details: { format, ...counted, filter: { ...filter }, columns: [...shown] },
    },
  }
}
