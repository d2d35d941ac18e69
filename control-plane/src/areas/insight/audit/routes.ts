import type { z } from 'zod'
import { envelopeOf } from '../../../kernel/envelope.ts'
import { type Route, route, stream } from '../../../kernel/route.ts'
import { findEntry } from './entries/queries.ts'
import { entryOf } from './entries/entry.ts'
import { AuditEntry, EntryQuery, SearchQuery } from './entries/schema.ts'
import { listEntries } from './entries/service.ts'
import { ExportAudit, ExportQuery } from './export/schema.ts'
import { exportLog, exportsAtOnce } from './export/service.ts'
import {
  AuditStats,
  ComplianceReport,
  FiguresQuery,
  SecurityEventsReport,
  UserActivityReport,
} from './figures/schema.ts'
import { compliance, securityEvents, stats, userActivity } from './figures/service.ts'

const page = envelopeOf(AuditEntry)

/** A generic list, which looks for its rows in more than one way. */
const entries = (name: `GET /${string}`, summary: string, query: z.ZodType<EntryQuery>): Route => ({
  ...route(name, { summary, can: 'audit:read', query, returns: page, run: listEntries(name) }),
  list: true,
})

export default [
  entries('GET /audit', 'The audit log, newest first: as `GET /audit/logs`', EntryQuery),
  entries('GET /audit/logs', 'The audit log, newest first', EntryQuery),
  route('GET /audit/logs/:id', {
    summary: 'One row of the audit log',
    can: 'audit:read',
    returns: AuditEntry,
    run: async ({ db, params }) => {
      const row = await findEntry(db, params.id)
      return row && entryOf(row)
    },
  }),
  entries('GET /audit/search', 'Rows of the audit log with these words, newest first', SearchQuery),
  route('GET /audit/stats', {
    summary: 'What there is in the audit log, counted',
    can: 'audit:read',
    query: FiguresQuery,
    returns: AuditStats,
    run: stats,
  }),
  stream('GET /audit/export', {
    summary: 'The audit log as a file, newest first',
    can: 'audit:export',
    freshMfa: true,
    audit: 'audit.export',
    query: ExportQuery,
    streams: exportsAtOnce,
    run: ({ ports, query: { format, columns, includeDetails, ...filter } }, db) =>
      exportLog(db, ports.clock, { format, columns, includeDetails, filter }),
  }),
  stream('POST /audit/export', {
    summary: 'The audit log as a file, newest first, by filters of a body',
    can: 'audit:export',
    freshMfa: true,
    audit: 'audit.export',
    body: ExportAudit,
    streams: exportsAtOnce,
    run: ({ ports, body: { format, columns, includeDetails, filters, dateRange } }, db) =>
      exportLog(db, ports.clock, { format, columns, includeDetails, filter: { ...filters, ...dateRange } }),
  }),
  route('GET /audit/reports/user-activity', {
    summary: 'What users did',
    can: 'audit:read',
    query: FiguresQuery,
    returns: UserActivityReport,
    run: userActivity,
  }),
  route('GET /audit/reports/security-events', {
    summary: 'Logins, refusals, and changes of who may do what',
    can: 'audit:read',
    query: FiguresQuery,
    returns: SecurityEventsReport,
    run: securityEvents,
  }),
  route('GET /audit/reports/compliance', {
    summary: 'Which data were changed, and which left the system',
    can: 'audit:read',
    query: FiguresQuery,
    returns: ComplianceReport,
    run: compliance,
  }),
]
