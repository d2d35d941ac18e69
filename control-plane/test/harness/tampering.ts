import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKeyPairSync } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import type { TransactionSql } from 'postgres'
import { openHeadsFile } from '../../src/adapters/heads-file.ts'
import { openPool } from '../../src/adapters/postgres.ts'
import type { TellDeps } from '../../src/engines/chain/heads.ts'
import { sealAll } from '../../src/engines/chain/sealer.ts'
import { verifyAudit } from '../../src/engines/chain/verify/verify.ts'
import { workerDb } from '../../src/kernel/db.ts'
import { auditRow, writeRows } from './audit-rows.ts'
import { databaseForFile } from './database.ts'

const tables = ['audit_log', 'audit_seal', 'audit_unsealed', 'audit_heads_owed'] as const

/** A log of two partners and the system, sealed in several rounds, whose heads were told; and who may do everything to it. */
export async function tamperWorld() {
  const { url } = await databaseForFile()
  const sql = openPool({ url, max: 3, name: 'test' })
  const worker = openPool({ url, role: 'svc_worker', max: 3, name: 'test-worker', statementTimeoutMs: 0 })
  const folder = mkdtempSync(join(tmpdir(), 'svc-tamper-'))
  const key = { id: 'test', ...generateKeyPairSync('ed25519') }
  const headsFile = await openHeadsFile(folder)
  const deps = {
    db: workerDb(worker, { kind: 'system' }),
    ports: { headKey: () => key, headsFile },
    log: { child: () => ({ info: () => undefined }) } as TellDeps['log'],
  }
  const [p1, p2] = [uuid(), uuid()]
  const write = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      const partners = [...Array<string>(10).fill(p1), ...Array<string>(4).fill(p2), null, null]
      await writeRows(
        sql,
        partners.map((partner, n) => auditRow(partner, round * 16 + n)),
      )
      await sealAll(deps)
    }
  }
  await write(6)
  for (const table of tables) await sql.unsafe(`create table kept_${table} as table ${table}`)

  return {
    url,
    sql,
    worker,
    folder,
    key,
    headsFile,
    deps,
    p1,
    p2,
    write,
    /** All as it was. */
    restore: async () => {
      await sql.unsafe(`truncate ${tables.join(', ')}`)
      await sql.begin(async (tx) => {
        await tx`set local session_replication_role = replica`
        for (const table of tables) await tx.unsafe(`insert into ${table} table kept_${table}`)
      })
    },
    /** As superuser, with every trigger out of the way. */
    tamper: (work: (tx: TransactionSql) => Promise<unknown>) =>
      sql.begin(async (tx) => {
        await tx`set local session_replication_role = replica`
        await work(tx)
      }),
    sealOf: async (partner: string, seq: number) => {
      const [row] = await sql<{ auditId: string; hash: Buffer }[]>`
        select audit_id, hash from audit_seal where partner = ${partner} and seq = ${seq}`
      if (!row) throw new Error(`there is no seal ${seq}`)
      return row
    },
    verify: (more: Partial<Parameters<typeof verifyAudit>[1]> = {}) =>
      verifyAudit(worker, { heads: [headsFile.path], keys: [key], ...more }),
    close: async () => {
      await Promise.all([sql.end(), worker.end()])
      rmSync(folder, { recursive: true })
    },
  }
}
