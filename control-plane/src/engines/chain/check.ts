import { randomUUID } from 'node:crypto'
import type { Sql } from 'postgres'
import { Gauge, type Registry } from 'prom-client'
import type { WorkerDb } from '../../kernel/db.ts'
import { entriesOf } from './verify/entries.ts'
import { Findings } from './verify/finding.ts'
import { RowShape } from './verify/row-shape.ts'
import { type Tail, Walk } from './verify/walk.ts'

export interface CheckDeps {
  /** of scope `system` */
  db: WorkerDb
  metrics: Registry
  log: { error(details: object, message: string): void }
}

/** Findings that are told with one round. */
const mostTold = 20

/**
 * Follows the chains, so many seals at a time, round and round: what was changed is noticed by itself. It begins anywhere, so that
 * processes that start often do not look at the same ones for ever. It knows no heads: a whole verification is `audit verify`.
 */
export class ChainCheck {
  readonly #deps: CheckDeps
  readonly #gauge: Gauge
  #tail: Tail | undefined = { partner: randomUUID(), seq: 0, hash: undefined }
  #found = { thisRound: 0, lastRound: 0 }

  constructor(deps: CheckDeps) {
    this.#deps = deps
    const name = 'svc_audit_chain_findings'
    deps.metrics.removeSingleMetric(name)
    this.#gauge = new Gauge({
      name,
      help: 'What does not fit in the chains of the audit log, as this process has found in its last round.',
      registers: [deps.metrics],
    })
  }

  /** @param most seals */
  async run(most: number): Promise<void> {
    const { db, log } = this.#deps
    const findings = new Findings(mostTold)
    // One connection and one snapshot: a cursor needs a transaction.
    const { rows, tail } = await (db.sql as Sql).begin(
      'isolation level repeatable read read only',
      async (sql) => {
        await sql`select set_config('app.scope', '"system"', true)`
        const shape = await RowShape.read(sql)
        const walk = new Walk(shape, findings.add, this.#tail && { ...this.#tail })
        for await (const entries of entriesOf(sql, shape, { after: this.#tail, most }))
          for (const entry of entries) walk.take(entry)
        return { rows: walk.rows, tail: walk.end() }
      },
    )
    const round = rows < most
    this.#tail = round ? undefined : tail
    this.#count(findings.count, round)
    if (findings.count > 0)
      log.error(
        { findings: findings.kept, count: findings.count },
        'the audit log is not what was sealed: see `audit verify`',
      )
  }

  #count(found: number, round: boolean): void {
    this.#found.thisRound += found
    this.#gauge.set(Math.max(this.#found.thisRound, this.#found.lastRound))
    if (round) this.#found = { thisRound: 0, lastRound: this.#found.thisRound }
  }
}
