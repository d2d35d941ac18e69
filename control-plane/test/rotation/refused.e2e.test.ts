import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openPool } from '../../src/adapters/postgres.ts'
import { holdKeys } from '../../src/engines/secrets/hold.ts'
import { databaseForFile } from '../harness/database.ts'
import { startProgram } from '../harness/program.ts'

const database = await databaseForFile()
const keysDir = mkdtempSync(join(tmpdir(), 'svc-keys-'))
afterAll(() => rmSync(keysDir, { recursive: true }))
const env = {
  NODE_ENV: 'test',
  DATABASE_URL: database.url,
  KEYS_DIR: keysDir,
  EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
  PORT: '0',
  INTERNAL_PORT: '0',
  METRICS_PORT: '0',
}
const admin = (...args: string[]) =>
  new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const file = join(import.meta.dirname, '../../src/admin.ts')
    const path = { PATH: process.env['PATH'] ?? '' }
    execFile(
      process.execPath,
      ['--import', 'tsx', file, ...args],
      { env: { ...path, ...env } },
      (error, out, err) =>
        resolve({ code: error ? Number(error.code) : 0, out: out.trim(), err: err.trim() }),
    )
  })

test('with another database’s key the server and a command that needs it refuse in one line, exit 1; one that does not goes on', async () => {
  const pool = openPool({ url: database.url, role: 'svc_worker', max: 1, name: 'svc-worker' })
  await (await holdKeys(pool, keysDir)).close()
  await pool.end()
  writeFileSync(join(keysDir, 'master.key'), `${randomBytes(32).toString('hex')}\n`)
  const line = expect.stringMatching(/^master key [0-9a-f]{8} of this database is not in [^\n]+$/)
  const [served, added, shown] = await Promise.all([
    startProgram(env).ended,
    admin('master-key', 'add'),
    admin('master-key', 'show'),
  ])
  expect(served).toEqual({ code: 1, err: line })
  expect(added).toEqual({ code: 1, out: '', err: line })
  expect(shown).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^[0-9a-f]{8} sealing since /) })
})
