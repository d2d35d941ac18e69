import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateKeyPairSync } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import { afterAll, expect, test } from 'vitest'
import { modelCheck } from '../../../test/harness/chain-model.ts'
import { databaseForFile } from '../../../test/harness/database.ts'
import { headsFileName } from '../../adapters/heads-file.ts'
import { openPool } from '../../adapters/postgres.ts'
import { writeAudit } from '../../kernel/audit.ts'
import { inTransaction, workerDb } from '../../kernel/db.ts'
import { sealAll } from './sealer.ts'
import { verifyAudit } from './verify/verify.ts'

/** `AUDIT_WRITERS=1000 AUDIT_WRITES=50 AUDIT_KILLS=20` is the long form. */
const writers = Number(process.env['AUDIT_WRITERS'] ?? 1_000)
const each = Number(process.env['AUDIT_WRITES'] ?? 2)
const kills = Number(process.env['AUDIT_KILLS'] ?? 2)

const { url } = await databaseForFile()
const sql = openPool({ url, max: 2, name: 'test' })
const app = openPool({ url, role: 'svc_app', max: 30, name: 'test-app' })
const worker = openPool({ url, role: 'svc_worker', max: 2, name: 'test-worker', statementTimeoutMs: 0 })
const dir = mkdtempSync(join(tmpdir(), 'svc-writers-'))
const children: ChildProcess[] = []
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all([sql.end(), app.end(), worker.end()])
  rmSync(dir, { recursive: true })
})

/** A process that seals. */
async function startSealer(): Promise<ChildProcess> {
  const program = join(import.meta.dirname, '../../../test/harness/sealer.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', program, url, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  await once(child.stdout, 'data')
  return child
}

const partners = [uuid(), uuid(), uuid()]
const client = {
  requestId: 'request',
  ip: '192.0.2.1',
  userAgent: 'test',
  header: () => undefined,
  cookie: () => undefined,
  gone: new AbortController().signal,
}

/** One writer after the other's fashion: some commit late, some change their mind. */
async function write(n: number): Promise<number> {
  let kept = 0
  for (let i = 0; i < each; i++) {
    const partnerId = partners[n % partners.length] ?? ''
    const scope = { kind: 'tenant', partnerId, orgs: 'all' } as const
    const undo = n % 50 === 0 ? new Error('undone') : undefined
    await inTransaction(app, scope, async (db) => {
      writeAudit(db, {
        action: 'test.write',
        result: 'success',
        actor: { type: 'system' },
        subject: { type: 'test', details: { n, i } },
        client,
        scope,
        at: new Date(),
      })
      await db.one`select 1 as one`
      if (n % 7 === 0) await sleep(20)
      if (undo) throw undo
    }).then(
      () => (kept += 1),
      (error: unknown) => {
        if (error !== undo) throw error
      },
    )
  }
  return kept
}

test('parallel writers make one chain for each partner, whoever seals at once and is killed in between', async () => {
  const others = await Promise.all([startSealer(), startSealer(), startSealer()])
  const key = { id: 'last', ...generateKeyPairSync('ed25519') }
  const writing = Promise.all(Array.from({ length: writers }, (_, n) => write(n)))
  let done = false
  void writing.then(() => (done = true))
  let doomed = others.shift()
  for (let kill = 0; kill < kills && doomed; kill++) {
    const sealedBefore = async () => Number((await sql`select count(*) as n from audit_seal`)[0]?.['n'])
    const seen = await sealedBefore()
    while (!done && (await sealedBefore()) === seen) await sleep(5)
    await sleep(Math.random() * 30)
    doomed.kill('SIGKILL')
    doomed = others.shift() ?? (kill + 1 < kills ? await startSealer() : undefined)
  }
  const kept = (await writing).reduce((sum, n) => sum + n, 0)
  for (const child of children) child.kill('SIGKILL')
  // What they left: rows, and ends of chains that nobody heard of. The server may still be at the last words of one that was killed, and a
  // chain that somebody holds is passed over.
  const left = async () => {
    await sealAll({
      db: workerDb(worker, { kind: 'system' }),
      ports: { headKey: () => key },
      log: { child: () => ({ info: () => undefined }) },
    })
    return (await sql`select from audit_unsealed`).count
  }
  await expect.poll(left).toBe(0)
  expect((await sql`select from audit_log`).count).toBe(kept)
  expect(await modelCheck(sql)).toEqual({ wrong: [], seals: kept })
  const verified = await verifyAudit(worker, { heads: [join(dir, headsFileName)], keys: [] })
  expect(verified).toMatchObject({ whole: true, chains: 3, rows: kept, waiting: { rows: 0 } })
  expect(verified.heads).toBeGreaterThan(3)
})
