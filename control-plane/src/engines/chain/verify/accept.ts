import type { Sql } from 'postgres'
import type { KeyPair } from '../../../adapters/keys.ts'
import { type Head, lineOf, signHead } from '../head.ts'
import { checkHeads, headsSource } from './heads.ts'
import type { Asked } from './row-shape.ts'

/** A chain of which more, or something else, was told than the database holds. */
export interface Loss {
  partner: string
  /** up to here it is as it was told */
  seq: number
  /** the last that was told */
  told: number
}

/**
 * What whoever restored a database says to it: that what was told of its chains beyond what it holds is lost. Signed, so that nobody
 * says it who has the database alone; it stays in the file of heads, and is shown by each verification.
 *
 * @returns the lines to add to a file of heads, and the chains that they are about
 */
export function acceptLosses(
  pool: Sql,
  { heads, keys, key }: { heads: readonly string[]; keys: readonly KeyPair[]; key: KeyPair },
): Promise<{ lines: string; losses: Loss[] }> {
  const sources = heads.map(headsSource)
  return pool.begin('isolation level repeatable read read only', async (sql) => {
    await sql`select set_config('app.scope', '"system"', true)`
    const { told } = await checkHeads(sql, { sources, keys }, () => undefined)
    const now = Date.now()
    const losses: Loss[] = []
    const said: Head[] = []
    for (const [partner, { other, beyond }] of told) {
      if (other === undefined && beyond === undefined) continue
      const last = await sealOf(sql, partner)
      const seq = Math.min(last.seq, (other ?? Number.POSITIVE_INFINITY) - 1)
      losses.push({ partner, seq, told: Math.max(other ?? 0, beyond ?? 0) })
      said.push({
        kind: 'accepted',
        partner,
        ...(await sealOf(sql, partner, seq)),
        at: new Date(now).toISOString(),
      })
      // From now on this counts.
      if (last.seq > 0) said.push({ kind: 'head', partner, ...last, at: new Date(now + 1).toISOString() })
    }
    return { lines: said.map((head) => lineOf(signHead(head, key))).join(''), losses }
  }) as Promise<{ lines: string; losses: Loss[] }>
}

/** The last seal of a chain up to `seq`; seq 0 where there is none. */
async function sealOf(sql: Asked, partner: string, seq = Number.MAX_SAFE_INTEGER) {
  const [row] = await sql<{ seq: number; hash: string }[]>`
    select s.seq::float8 as seq, encode(s.hash, 'hex') as hash from svc.audit_seal s
    where s.partner = ${partner} and s.seq <= ${seq} order by s.seq desc limit 1`
  return row ?? { seq: 0, hash: '0'.repeat(64) }
}
