import { generateKeyPairSync, verify } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLog } from '@svc/proto/log'
import { v7 as uuid } from 'uuid'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { auditRow, writeRows } from '../../../test/harness/audit-rows.ts'
import { modelCheck } from '../../../test/harness/chain-model.ts'
import { databaseForFile } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/pipeline.ts'
import { openHeadsFile } from '../../adapters/heads-file.ts'
import { openPool } from '../../adapters/postgres.ts'
import { workerDb } from '../../kernel/db.ts'
import { flawsOf } from '../../../../tools/log/lines.ts'
import { sealAll } from './sealer.ts'
import { sealSome } from './rows.ts'
import { RowShape } from './verify/row-shape.ts'
import { verifyAudit } from './verify/verify.ts'

const { url } = await databaseForFile()
const sql = openPool({ url, max: 4, name: 'test' })
const pool = openPool({ url, role: 'svc_worker', max: 6, name: 'test-worker' })
const db = workerDb(pool, { kind: 'system' })
const key = { id: 'test', ...generateKeyPairSync('ed25519') }
const folder = mkdtempSync(join(tmpdir(), 'svc-heads-'))
afterAll(async () => {
  await Promise.all([sql.end(), pool.end()])
  rmSync(folder, { recursive: true })
})

const [p1, p2] = [uuid(), uuid()]
const logged: object[] = []
const log = { child: () => ({ info: (details: object) => void logged.push(details) }) }
const deps = { db, ports: { headKey: () => key }, log }
const seals = () => sql<{ partner: string; seq: number; auditId: string }[]>`
  select partner, seq, audit_id from audit_seal order by partner, seq`
const waiting = async () => (await sql`select from audit_unsealed`).count

beforeEach(async () => {
  await sql`truncate audit_log, audit_seal, audit_unsealed, audit_heads_owed`
  logged.length = 0
})

test('each partner has a chain of its own, and so has the system; what neither seals nor verifies agrees', async () => {
  const rows = [p1, p2, null, p1, p2, p1].map((partner, n) => auditRow(partner, n))
  await writeRows(sql, rows)
  expect(await waiting()).toBe(6)
  await sealAll(deps)
  const system = '00000000-0000-0000-0000-000000000000'
  expect((await seals()).map(({ partner, seq }) => [partner, seq])).toEqual(
    [
      [system, 1],
      [p1, 1],
      [p1, 2],
      [p1, 3],
      [p2, 1],
      [p2, 2],
    ].toSorted(([a = ''], [b = '']) => (a < b ? -1 : a > b ? 1 : 0)),
  )
  expect(await modelCheck(sql)).toEqual({ wrong: [], seals: 6 })
  expect(await waiting()).toBe(0)
  await sql`update audit_log set actor_email = 'another@example.com' where id = ${rows[3]?.id ?? ''}`
  expect((await modelCheck(sql)).wrong).toEqual([`${p1} 2`])
})

test('a column that came later is null where nothing was said: older rows are sealed as they were', async () => {
  const columns = await sql<{ name: string; required: boolean; given: boolean; type: string }[]>`
    select attname as name, attnotnull as required, atthasdef as given, format_type(atttypid, null) as type from pg_attribute
    where attrelid = 'svc.audit_log'::regclass and attnum > 0 and not attisdropped`
  const first = ['id', 'at', 'actor_type', 'action', 'result', 'details']
  const others = columns.filter(({ name }) => !first.includes(name))
  expect(others.filter(({ required, given }) => required || given)).toEqual([])
  expect(() => new RowShape(columns)).not.toThrow()
  expect(() => new RowShape([...columns, { name: 'more', type: 'real' }])).toThrow('audit_log.more is a real')
})

test('what commits late is sealed, whatever was numbered before it', async () => {
  const early = auditRow(p1, 0)
  const late = await sql.reserve()
  await late`begin`
  await writeRows(late, [early])
  await writeRows(sql, [auditRow(p1, 1)])
  await sealAll(deps)
  await late`commit`
  late.release()
  await sealAll(deps)
  expect((await seals()).map(({ auditId }) => auditId).at(-1)).toBe(early.id)
  expect(await modelCheck(sql)).toEqual({ wrong: [], seals: 2 })
})

test('a leader that has not committed keeps others from its chain alone, and they do not wait', async () => {
  await writeRows(sql, [auditRow(p1, 0), auditRow(p2, 1)])
  const key = `svc.audit_seal ${p1}`
  await sql.begin(async (leader) => {
    await leader`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`
    expect(await db.tx((tx) => sealSome(tx, 10))).toBe(1)
    expect((await seals()).map(({ partner }) => partner)).toEqual([p2])
  })
  expect(await db.tx((tx) => sealSome(tx, 10))).toBe(1)
})

test('two at once never fork a chain, not even without the lock', async () => {
  const [plain] = await sql<{ text: string }[]>`select pg_get_functiondef('svc.seal_audit'::regproc) as text`
  // Both have read where the chain ends before either goes on.
  const racing = (plain?.text ?? '')
    .replace(/continue when not[^;]+;/, '')
    .replace('before := last_seq;', 'before := last_seq; perform pg_sleep(1);')
  expect(racing).not.toContain('pg_try_advisory')
  await sql.unsafe(racing)
  try {
    await writeRows(sql, [auditRow(p1, 0), auditRow(p1, 1)])
    const [, second] = await sql<{ auditId: string }[]>`select audit_id from audit_unsealed order by 1`
    const slow = db.tx((tx) => sealSome(tx, 1)) // the first row
    const sleeps = () => sql`
      select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    await eventually(async () => (await sleeps()).length > 0, 'the first to be between reading and writing')
    // Another leader, which took the other row from the queue.
    const blocked = sql`
      with taken as (delete from audit_unsealed where audit_id = ${second?.auditId ?? ''} returning audit_id)
      insert into audit_seal select ${p1}::uuid, 1, audit_id, sha256('forked') from taken`
    const outcomes = await Promise.allSettled([slow, blocked])
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes.find((outcome) => outcome.status === 'rejected')?.reason).toMatchObject({ code: '23505' })
  } finally {
    await sql.unsafe(plain?.text ?? '')
  }
})

test('who seals again what is sealed does nothing, and what waits twice is sealed once', async () => {
  const row = auditRow(p1, 0)
  await writeRows(sql, [row])
  await sealAll(deps)
  await sql`insert into audit_unsealed values (${row.id})`
  await sealAll(deps)
  expect([(await seals()).length, await waiting()]).toEqual([1, 0])
})

test('ends of chains are told in the log and in a file, signed; what could not be told is told the next time', async () => {
  await writeRows(sql, [auditRow(p1, 0), auditRow(p1, 1)])
  const full = { path: '', append: () => Promise.reject(new Error('no space left on device')) }
  await expect(sealAll({ ...deps, ports: { ...deps.ports, headsFile: full } })).rejects.toThrow('no space')
  expect([(await seals()).length, logged]).toEqual([2, []])
  const headsFile = await openHeadsFile(join(folder, 'told'))
  await sealAll({ ...deps, ports: { ...deps.ports, headsFile } })
  await writeRows(sql, [auditRow(p1, 2)])
  await sealAll({ ...deps, ports: { ...deps.ports, headsFile } })
  const lines = readFileSync(headsFile.path, 'utf8').trimEnd().split('\n')
  const heads = lines.map((line) => (JSON.parse(line) as { auditHead: Record<string, string> }).auditHead)
  expect(heads).toMatchObject([
    { kind: 'head', partner: p1, seq: 2, key: 'test' },
    { kind: 'head', partner: p1, seq: 3 },
  ])
  expect(logged).toEqual(lines.map((line) => ({ event: 'audit.sealed', ...(JSON.parse(line) as object) })))
  for (const { kind, partner, seq, hash, at, signature = '' } of heads) {
    const text = `svc.audit.head.v1\n${kind}\n${partner}\n${seq}\n${hash}\n${at}`
    expect(verify(null, Buffer.from(text), key.publicKey, Buffer.from(signature, 'base64'))).toBe(true)
  }
  expect((await sql`select from audit_heads_owed`).count).toBe(0)
})

test('a log of a server, whatever its level, is as good as a file of heads, and each head is in there', async () => {
  const partners = Array.from({ length: 60 }, () => uuid()) // more than a log takes of what repeats
  const path = join(folder, 'server.log')
  const { log: quiet, flush } = openLog({
    service: 'control-plane',
    level: 'error',
    sink: { write: (line) => (appendFileSync(path, line), line.length) },
  })
  await writeRows(
    sql,
    partners.map((partner, n) => auditRow(partner, n)),
  )
  await sealAll({ ...deps, log: quiet })
  flush(0)
  expect(flawsOf(readFileSync(path, 'utf8'))).toEqual([])
  const asked = { heads: [path], keys: [key] }
  expect(await verifyAudit(pool, asked)).toMatchObject({ whole: true, heads: 60, chains: 60 })
  await sql`delete from audit_log a using audit_seal s where s.audit_id = a.id and s.partner = ${partners[59] ?? ''}`
  await sql`delete from audit_seal where partner = ${partners[59] ?? ''}`
  expect((await verifyAudit(pool, asked)).findings).toMatchObject([
    { kind: 'tail_truncated', partner: partners[59], seq: 1 },
  ])
})

test.each(['svc_app', 'svc_worker'])(
  '%s can neither change nor remove nor forge a row or a seal',
  async (role) => {
    await writeRows(sql, [auditRow(p1, 0)])
    await sealAll(deps)
    await writeRows(sql, [auditRow(p1, 1)])
    const statements = [
      ...['audit_log', 'audit_seal', 'audit_unsealed'].flatMap((table) => [
        `delete from ${table}`,
        `truncate ${table}`,
        `insert into ${table} select * from ${table}`,
      ]),
      `update audit_log set action = 'x'`,
      `update audit_seal set seq = 9`,
      `alter table audit_log disable trigger all`,
      `set session_replication_role = replica`,
    ]
    for (const statement of statements) {
      const tried = sql.begin(async (tx) => {
        await tx.unsafe(`set local role ${role}; set local app.scope = '"system"'`)
        // Who became the role may do what the superuser of the session may.
        if (statement.includes('session_replication_role'))
          return tx`select 1 / (has_parameter_privilege(${role}, 'session_replication_role', 'set'))::int`
        return tx.unsafe(statement)
      })
      await expect(tried, statement).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|22012)$/) })
    }
  },
)
