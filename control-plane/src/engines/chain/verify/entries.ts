import type { Asked, RowShape, RowValues } from './row-shape.ts'

/** A seal, and the row that it is of. */
export interface Entry {
  partner: string
  seq: number
  auditId: string
  hash: Buffer
  /** undefined: there is no such row */
  row: RowValues | undefined
}

/** A place in the chains, after which to begin. */
export interface Place {
  partner: string
  seq: number
}

export interface Which {
  /** one chain alone */
  partner?: string | undefined
  after?: Place | undefined
  /** so many seals at most */
  most?: number | undefined
}

/** Seals per round trip. */
const batch = 2_000

type Raw = Record<string, string | null> & { partner: string; seq: string; auditid: string; hash: Buffer }

/** Seals with their rows, chain by chain, each in its order; they stream, so that memory does not grow with them. */
export async function* entriesOf(sql: Asked, shape: RowShape, which: Which = {}): AsyncGenerator<Entry[]> {
  const columns = shape.selected.map((text, at) => `${text} as c${at}`)
  const { partner, after, most } = which
  const given = [
    ...(partner === undefined ? [] : [partner]),
    ...(after === undefined ? [] : [after.partner, after.seq]),
  ]
  const conditions = [
    ...(partner === undefined ? [] : ['s.partner = $1::uuid']),
    ...(after === undefined
      ? []
      : [`(s.partner, s.seq) > ($${given.length - 1}::uuid, $${given.length}::bigint)`]),
  ]
  const seals = `select s.partner, s.seq, s.audit_id, s.hash from svc.audit_seal s
    ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
    order by s.partner, s.seq ${most === undefined ? '' : `limit ${Math.trunc(most)}`}`
  const query = `select s.partner, s.seq::text as seq, s.audit_id as auditid, s.hash, a.id is not null as found, ${columns.join(', ')}
    from (${seals}) s left join svc.audit_log a on a.id = s.audit_id order by s.partner, s.seq`
  for await (const rows of sql.unsafe<(Raw & { found: boolean })[]>(query, given).cursor(batch)) {
    yield rows.map((raw) => ({
      partner: raw.partner,
      seq: Number(raw.seq),
      auditId: raw.auditid,
      hash: raw.hash,
      row: raw.found ? shape.selected.map((_, at) => raw[`c${at}`] ?? null) : undefined,
    }))
  }
}
