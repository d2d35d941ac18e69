import type { Evidence } from './evidence.ts'

type Known = Pick<Evidence, 'accepted' | 'rows' | 'records' | 'brokenSeals' | 'unsealed'>

/** Invariant f: the chains hold, and the log has one record of each command, accepted or at least there, and none of another. */
export function auditFaults({ accepted, rows, records, brokenSeals, unsealed }: Known): string[] {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const times = new Map<string, number>()
  for (const { commandId } of records) times.set(commandId, (times.get(commandId) ?? 0) + 1)
  const there = new Set([...accepted.map(({ id }) => id), ...byId.keys()])
  return [
    ...brokenSeals.map((place) => `the chain does not hold at ${place}`),
    ...(unsealed > 0 ? [`${unsealed} rows of the audit log are not sealed`] : []),
    ...[...there]
      .filter((id) => times.get(id) !== 1)
      .map((id) => `command ${id} has ${times.get(id) ?? 0} records in the audit log`),
    ...records.flatMap(({ commandId, deviceId, orgId }) => {
      const row = byId.get(commandId)
      if (!row) return [`the audit log tells of command ${commandId}, which does not exist`]
      if (row.deviceId !== deviceId) return [`the audit log tells of command ${commandId} for ${deviceId}`]
      return row.orgId === orgId ? [] : [`the record of command ${commandId} is the organization's ${orgId}`]
    }),
  ]
}
