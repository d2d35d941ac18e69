import { z } from 'zod'
import { csv, flag } from '../../../../kernel/query-text.ts'
import { FilterBody, FilterQuery, from, to } from '../entries/schema.ts'

/** Beyond this many rows an export ends, and says so (docs/choices.md, Audit log). */
export const mostRows = 1_000_000

export const ExportFormat = z
  .enum(['csv', 'json'])
  .describe(
    'csv: RFC 4180 in UTF-8, with texts that a spreadsheet would take for formulas made harmless; json: as they are',
  )
export type ExportFormat = z.output<typeof ExportFormat>

export const columnNames = [
  'id',
  'timestamp',
  'orgId',
  'actorType',
  'actorId',
  'actorEmail',
  'onBehalfOf',
  'action',
  'category',
  'severity',
  'resourceType',
  'resourceId',
  'resourceName',
  'result',
  'ipAddress',
  'userAgent',
  'requestId',
  'details',
] as const
export const ExportColumn = z.enum(columnNames)
export type ExportColumn = z.output<typeof ExportColumn>

const includeDetails = 'With false, without the column `details`'

export const ExportQuery = z.object({
  ...FilterQuery,
  format: ExportFormat.default('csv'),
  columns: csv(ExportColumn, columnNames.length)
    .optional()
    .describe(`Comma-separated, all when left out: ${columnNames.join(', ')}`),
  includeDetails: flag.default(true).describe(includeDetails),
})

export const ExportAudit = z
  .strictObject({
    format: ExportFormat.default('json'),
    filters: FilterBody.optional(),
    dateRange: z
      .strictObject({ from: from.optional(), to: to.optional() })
      .optional()
      .describe('Of when; of all times when left out'),
    columns: z.array(ExportColumn).min(1).max(columnNames.length).optional().describe('All when left out'),
    includeDetails: z.boolean().default(true).describe(includeDetails),
  })
  .meta({
    id: 'ExportAudit',
    examples: [
      {
        format: 'csv',
        filters: { action: ['user.login'], result: 'failure' },
        dateRange: { from: '2026-11-01T00:00:00Z' },
      },
      {},
    ],
  })
