import type { Evidence } from './evidence.ts'

/**
 * The part of invariant c that ledgers alone know: what a device took was signed for it and for the organization that it belongs to,
 * and is a command of its own.
 */
export function ownerFaults({ ledgers, rows }: Pick<Evidence, 'ledgers' | 'rows'>): string[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ledgers.flatMap(({ deviceId, commandId, order }) => {
    const row = byId.get(commandId)
    const about = `command ${commandId} in the ledger of ${deviceId}`
    if (order && order.deviceId !== deviceId) return [`${about} is for ${order.deviceId}`]
    if (row && row.deviceId !== deviceId) return [`${about} is one of ${row.deviceId}`]
    if (order && row && order.orgId !== row.deviceOrgId)
      return [`${about} is of the organization ${order.orgId}`]
    return []
  })
}
