import { type Finding, finding, systemChain } from './finding.ts'
import type { Asked } from './row-shape.ts'

/** Rows that wait to be sealed, and what is neither sealed nor waits. */
export interface Waiting {
  rows: number
  /** age of the oldest one */
  oldestSeconds: number
}

const batch = 1_000

/** What is in no chain. Both indexes are read in order, so that memory does not grow. */
export async function strays(
  sql: Asked,
  partner: string | undefined,
  report: (found: Finding) => void,
): Promise<Waiting> {
  const inserted = sql<{ id: string; partner: string }[]>`
    select a.id, coalesce(a.partner_id, ${systemChain}::uuid) as partner from svc.audit_log a
    where not exists (select from svc.audit_seal s where s.audit_id = a.id)
      and not exists (select from svc.audit_unsealed u where u.audit_id = a.id)
      and (${partner ?? null}::uuid is null or coalesce(a.partner_id, ${systemChain}::uuid) = ${partner ?? null}::uuid)`
  for await (const rows of inserted.cursor(batch))
    for (const { id, partner: owner } of rows)
      report(finding('row_inserted', { partner: owner, seq: null, rowId: id }))
  // Of a row that is gone nobody knows any more whose it was: it is told with every chain.
  const gone = sql<{ id: string }[]>`
    select u.audit_id as id from svc.audit_unsealed u
    where not exists (select from svc.audit_log a where a.id = u.audit_id)`
  for await (const rows of gone.cursor(batch))
    for (const { id } of rows)
      report(finding('row_removed_unsealed', { partner: partner ?? systemChain, seq: null, rowId: id }))
  const [waiting] = await sql<{ rows: number; oldest: number }[]>`
    select count(*)::float8 as rows, coalesce(extract(epoch from clock_timestamp() - min(a.at) filter (where isfinite(a.at))), 0)::float8 as oldest
    from svc.audit_unsealed u join svc.audit_log a on a.id = u.audit_id`
  return { rows: waiting?.rows ?? 0, oldestSeconds: Math.max(0, waiting?.oldest ?? 0) }
}
