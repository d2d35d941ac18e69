import type { Sql } from 'postgres'
import type { KeyPair } from '../../../adapters/keys.ts'
import { type Antedated, Antedates } from './antedated.ts'
import { entriesOf } from './entries.ts'
import { type Finding, Findings } from './finding.ts'
import { checkHeads, type HeadsChecked, headsSource } from './heads.ts'
import { RowShape } from './row-shape.ts'
import { strays, type Waiting } from './strays.ts'
import { type Untold, untoldOf } from './untold.ts'
import { Walk } from './walk.ts'

/** Rows are sealed within so many seconds. What was done to one before is not seen. */
export const windowSeconds = 5

export interface VerifyAsked {
  /** files of heads, or logs that hold them; none: what was told of the chains is not compared */
  heads: readonly string[]
  /** whose signatures of heads count; empty: signatures are not looked at */
  keys: readonly Pick<KeyPair, 'id' | 'publicKey'>[]
  /** one chain alone */
  partner?: string | undefined
  /** told every few seconds */
  progress?: ((rows: number, seconds: number) => void) | undefined
}

export interface Verified {
  /** nothing was found */
  whole: boolean
  chains: number
  /** sealed ones */
  rows: number
  seconds: number
  heads: number
  /** whether the signatures of heads were looked at */
  signatures: boolean
  accepted: HeadsChecked['accepted']
  /** ends of chains that none of the heads tells of; of no use where there are no heads at all */
  untold: Untold[]
  /** rows that say they are older than those before them; the first of them */
  antedated: Antedated[]
  antedatedCount: number
  windowSeconds: number
  waiting: Waiting
  /** the first {@link mostFindings} of each kind */
  findings: Finding[]
  findingCount: number
}

const mostFindings = 1_000
const progressMs = 5_000

/**
 * Checks the audit log against its seals, and the seals against what was told of them. One snapshot, so it may run while the log is
 * written. Memory does not grow with the log.
 *
 * @param pool may read `audit_log`, `audit_seal` and `audit_unsealed` in scope `system`, without a time limit for statements
 */
export function verifyAudit(pool: Sql, asked: VerifyAsked): Promise<Verified> {
  // Before the snapshot: each head in there is of seals that are in it.
  const sources = asked.heads.map(headsSource)
  return pool.begin('isolation level repeatable read read only', async (sql) => {
    await sql`select set_config('app.scope', '"system"', true)`
    const began = performance.now()
    const seconds = () => (performance.now() - began) / 1000
    const findings = new Findings(mostFindings)
    const { keys, partner } = asked
    const shape = await RowShape.read(sql)
    const walk = new Walk(shape, findings.add)
    const antedates = new Antedates(shape)
    const ends = new Map<string, number>()
    let toldAt = performance.now()
    for await (const entries of entriesOf(sql, shape, { partner })) {
      for (const entry of entries) {
        walk.take(entry)
        antedates.take(entry)
        ends.set(entry.partner, entry.seq)
      }
      if (performance.now() - toldAt < progressMs) continue
      toldAt = performance.now()
      asked.progress?.(walk.rows, seconds())
    }
    walk.end()
    const waiting = await strays(sql, partner, findings.add)
    const told = await checkHeads(sql, { sources, keys, partner }, findings.add)
    return {
      whole: findings.count === 0,
      chains: walk.chains,
      rows: walk.rows,
      seconds: seconds(),
      heads: told.heads,
      signatures: keys.length > 0,
      accepted: told.accepted,
      untold:
        told.heads === 0 ? [] : await untoldOf(sql, ends, { paths: asked.heads, keys, upTo: told.upTo }),
      antedated: antedates.kept,
      antedatedCount: antedates.count,
      windowSeconds,
      waiting,
      findings: findings.kept,
      findingCount: findings.count,
    }
  }) as Promise<Verified>
}
