import { v7 as uuid } from 'uuid'
import type { Sql } from 'postgres'

/** A row of the audit log with something in every column, as its writers hand it over. */
export const auditRow = (partnerId: string | null, n: number, more: object = {}) => ({
  id: uuid(),
  at: new Date(Date.now() - 60_000 + n).toISOString().replace('Z', `${String(n % 1000).padStart(3, '0')}Z`),
  partner_id: partnerId,
  org_id: partnerId && uuid(),
  actor_type: 'user',
  actor_id: uuid(),
  actor_email: `someone-${n}@example.com`,
  on_behalf_of: uuid(),
  action: 'device.update',
  resource_type: 'device',
  resource_id: uuid(),
  resource_name: `Gerät "${n}" \\ \u{1f4bb} \u2028 \u007f`,
  result: 'success',
  details: { n, zz: [1, 2.5, null, true], a: { bb: 'x\ty\u0001', b: 'ä' }, ä: n % 2 === 0 },
  ip: n % 2 ? '192.0.2.7' : '2001:db8::7',
  user_agent: n % 3 ? 'agent/1' : null,
  request_id: uuid(),
  ...more,
})

export type AuditRow = ReturnType<typeof auditRow>

/** Writes rows as the product does, each in its own call. */
export async function writeRows(sql: Sql, rows: readonly object[]): Promise<void> {
  await sql`select svc.write_audit(e) from jsonb_array_elements(${JSON.stringify(rows)}::text::jsonb) as e`
}
