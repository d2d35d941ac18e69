import { aboutAction } from '../../../../kernel/audit-actions.ts'
import type { AuditEntry, AuditRow } from './schema.ts'

/** A row as it is shown. */
export function entryOf(row: AuditRow): AuditEntry {
  const [category, severity] = aboutAction(row.action)
  const failed = row.result !== 'success' && (severity === 'info' || severity === 'notice')
  return {
    id: row.id,
    orgId: row.orgId,
    timestamp: row.at,
    actor: { type: row.actorType, id: row.actorId, email: row.actorEmail, onBehalfOf: row.onBehalfOf },
    action: row.action,
    resource: { type: row.resourceType, id: row.resourceId, name: row.resourceName },
    category,
    severity: failed ? 'warning' : severity,
    result: row.result,
    ipAddress: row.ip,
    userAgent: row.userAgent,
    requestId: row.requestId,
    details: row.details,
  }
}
