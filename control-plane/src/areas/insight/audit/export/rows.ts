import { aboutAction } from '../../../../kernel/audit-actions.ts'
import { entryOf } from '../entries/entry.ts'
import type { AuditRow } from '../entries/schema.ts'
import { byteOrderMark, csvLine, neutralJson } from './csv.ts'
import type { ExportColumn, ExportFormat } from './schema.ts'

const cellOf: Record<ExportColumn, (row: AuditRow) => unknown> = {
  id: ({ id }) => id,
  timestamp: ({ at }) => at.toISOString(),
  orgId: ({ orgId }) => orgId,
  actorType: ({ actorType }) => actorType,
  actorId: ({ actorId }) => actorId,
  actorEmail: ({ actorEmail }) => actorEmail,
  onBehalfOf: ({ onBehalfOf }) => onBehalfOf,
  action: ({ action }) => action,
  category: ({ action }) => aboutAction(action)[0],
  severity: (row) => entryOf(row).severity,
  resourceType: ({ resourceType }) => resourceType,
  resourceId: ({ resourceId }) => resourceId,
  resourceName: ({ resourceName }) => resourceName,
  result: ({ result }) => result,
  ipAddress: ({ ip }) => ip,
  userAgent: ({ userAgent }) => userAgent,
  requestId: ({ requestId }) => requestId,
  details: ({ details }) => details,
}

const text = (value: unknown) => (value === null || typeof value === 'string' ? value : neutralJson(value))

async function* csvOf(batches: AsyncIterable<AuditRow[]>, columns: readonly ExportColumn[]) {
  yield byteOrderMark + csvLine(columns)
  for await (const rows of batches)
    yield rows.map((row) => csvLine(columns.map((column) => text(cellOf[column](row))))).join('')
}

/** What it holds stands in front: a reader of JSON finds it before the rows. */
async function* jsonOf(
  batches: AsyncIterable<AuditRow[]>,
  columns: readonly ExportColumn[],
  { rows: count, truncated }: Counted,
) {
  const line = (row: AuditRow) =>
    JSON.stringify(Object.fromEntries(columns.map((column) => [column, cellOf[column](row)])))
  yield `{"rows":${count},"truncated":${truncated},"data":[`
  let first = true
  for await (const rows of batches) {
    yield `${first ? '\n' : ',\n'}${rows.map(line).join(',\n')}`
    first = false
  }
  yield '\n]}\n'
}

/** How many rows there are in an export, and whether there would be more. */
export interface Counted {
  rows: number
  truncated: boolean
}

/** Rows in the form that was asked for, a batch at a time. */
export const written = (
  format: ExportFormat,
  batches: AsyncIterable<AuditRow[]>,
  columns: readonly ExportColumn[],
  counted: Counted,
): AsyncGenerator<string> => (format === 'csv' ? csvOf(batches, columns) : jsonOf(batches, columns, counted))
