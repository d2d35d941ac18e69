import { plainArray } from '../../db/array-literal.ts'
import type { Db } from '../../kernel/tenancy.ts'

/** Seals at most so many rows, of all chains that nobody else leads at the moment. Returns how many. */
export async function sealSome(tx: Db, most: number): Promise<number> {
  const row = await tx.one<{ sealed: number }>`select svc.seal_audit(${most}::integer) as sealed`
  return row?.sealed ?? 0
}

/** The end of a chain that is to be told. */
export interface OwedHead {
  partner: string
  seq: number
  /** hex */
  hash: string
}

/** Chains one after the other, each in its order: the last one of a chain implies those before, and none is left out. */
export const listOwedHeads = (db: Db, most: number): Promise<OwedHead[]> =>
  db.rows<OwedHead>`
    select h.partner, h.seq, encode(h.hash, 'hex') as hash from audit_heads_owed h order by h.partner, h.seq limit ${most}`

/** They were told. */
export const dropOwedHeads = (tx: Db, heads: readonly OwedHead[]): Promise<number> =>
  tx.run`
    delete from audit_heads_owed h using unnest(${plainArray(heads.map(({ partner }) => partner))}::uuid[],
      ${plainArray(heads.map(({ seq }) => seq))}::bigint[]) as t (partner, seq)
    where h.partner = t.partner and h.seq = t.seq`

/** How far sealing is behind. */
export interface Backlog {
  unsealed: number
  /** age of the oldest row that waits */
  lagSeconds: number
  headsOwed: number
}

/** Seen by scope `system` alone. */
export const backlog = (db: Db) => db.one<Backlog>`
  select (select count(*) from audit_unsealed)::float8 as unsealed,
    (select count(*) from audit_heads_owed)::float8 as heads_owed,
    coalesce(extract(epoch from clock_timestamp() - (
      select a.at from audit_unsealed u join audit_log a on a.id = u.audit_id order by u.audit_id limit 1)), 0)::float8 as lag_seconds`
