import { createHash } from 'node:crypto'
import type { Sql } from 'postgres'

/**
 * The chains as docs/decisions/0030 defines them, written from that page alone: neither what seals (SQL) nor what verifies is used, so
 * that both can be held against it.
 */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** Names in the order of jsonb: by length in bytes, then by bytes. */
const sorted = (names: string[]) =>
  names.toSorted(
    (a, b) => Buffer.byteLength(a) - Buffer.byteLength(b) || Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )

/** As PostgreSQL writes jsonb. */
function written(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  return `{${sorted(Object.keys(value))
    .map((name) => `${JSON.stringify(name)}: ${written(value[name] ?? null)}`)
    .join(', ')}}`
}

const microseconds = (iso: string): number => {
  const [, seconds = '', fraction = ''] = /^(.{19})(?:\.(\d+))?Z$/.exec(iso) ?? []
  return Date.parse(`${seconds}Z`) * 1000 + Number(fraction.padEnd(6, '0'))
}

/** @param row columns by their names in SQL, `at` in ISO 8601 with up to six digits */
export function modelBytes(row: Record<string, Json>): string {
  const there = Object.entries(row).filter(([, value]) => value !== null)
  return written(
    Object.fromEntries(
      there.map(([name, value]) => [name, name === 'at' ? microseconds(value as string) : value]),
    ),
  )
}

export const modelHash = (partner: string, seq: number, previous: string, bytes: string): string => {
  const place = seq.toString(16).padStart(16, '0')
  return createHash('sha256')
    .update('svc.audit.v1\0', 'latin1')
    .update(partner.replaceAll('-', '') + place + previous, 'hex')
    .update(bytes, 'utf8')
    .digest('hex')
}

/** Follows all chains. @returns what is not as the model says: `partner seq` each; and how many seals there are */
export async function modelCheck(sql: Sql): Promise<{ wrong: string[]; seals: number }> {
  const seals = await sql<{ partner: string; seq: number; hash: string; row: Record<string, Json> | null }[]>`
    select s.partner, s.seq::int as seq, encode(s.hash, 'hex') as hash,
      case when a.id is not null then (to_jsonb(a) || jsonb_build_object('at', to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))) end as row
    from svc.audit_seal s left join svc.audit_log a on a.id = s.audit_id order by s.partner, s.seq`
  const wrong: string[] = []
  let [partner, seq, previous] = ['', 0, '']
  for (const seal of seals) {
    if (seal.partner !== partner) [partner, seq, previous] = [seal.partner, 0, '0'.repeat(64)]
    seq += 1
    const expected = seal.row && modelHash(partner, seq, previous, modelBytes(seal.row))
    if (seal.seq !== seq || seal.hash !== expected) wrong.push(`${partner} ${seal.seq}`)
    ;[seq, previous] = [seal.seq, seal.hash]
  }
  return { wrong, seals: seals.length }
}
