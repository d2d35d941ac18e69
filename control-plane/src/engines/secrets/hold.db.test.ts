import { randomBytes } from 'node:crypto'
import { chmodSync, cpSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { databaseForFile } from '../../../test/harness/database.ts'
import { KeyError } from '../../adapters/key-files.ts'
import { openPool } from '../../adapters/postgres.ts'
import { holdKeys } from './hold.ts'

const database = await databaseForFile()
const pool = openPool({ url: database.url, role: 'svc_worker', max: 2, name: 'svc-worker' })
const folder = mkdtempSync(join(inject('folder'), 'keys-'))
let dir = ''
let known = ''
beforeAll(async () => {
  const first = await holdKeys(pool, folder)
  known = first.ring.sealsUnder
  await first.close()
})
beforeEach(() => {
  dir = mkdtempSync(join(inject('folder'), 'keys-'))
  cpSync(folder, dir, { recursive: true })
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))
afterAll(async () => {
  await pool.end()
  rmSync(folder, { recursive: true })
})

const file = () => join(dir, 'master.key')
const anyKey = () => `${randomBytes(32).toString('hex')}\n`

/** What is wrong with KEYS_DIR, and what the one line says. */
const refused: Record<string, [spoil: () => void, line: RegExp]> = {
  'another database’s key': [
    () => writeFileSync(file(), anyKey(), { mode: 0o600 }),
    /^master key [0-9a-f]{8} of this database is not in \S+ \(KEYS_DIR\), which holds [0-9a-f]{8}$/,
  ],
  'no key': [() => rmSync(file()), /^master key [0-9a-f]{8} of this database is not in \S+ \(KEYS_DIR\)$/],
  'no folder': [() => rmSync(dir, { recursive: true }), /of this database is not in/],
  'a key that was cut off': [
    () => truncateSync(file(), 40),
    /master\.key is not a master key \(64 hex digits\)$/,
  ],
  'an empty file': [() => truncateSync(file(), 0), /master\.key is not a master key/],
  'a key that everybody may read': [() => chmodSync(file(), 0o644), /everybody may read it: chmod o-r it$/],
  'a key under another’s name': [
    () => writeFileSync(join(dir, 'master-00000000.key'), anyKey(), { mode: 0o600 }),
    /master-00000000\.key holds master key [0-9a-f]{8}: it was changed or renamed$/,
  ],
}

test.each(Object.entries(refused))('%s: refused in one line', async (_what, [spoil, line]) => {
  spoil()
  const refusal = await holdKeys(pool, dir).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(refusal).toBeInstanceOf(KeyError)
  expect((refusal as Error).message).toMatch(line)
  expect((refusal as Error).message).not.toContain('\n')
})

test('as it was, it is taken; and nobody is left behind as holding a key', async () => {
  const held = await holdKeys(pool, dir)
  expect(held.ring.sealsUnder).toBe(known)
  await held.close()
  expect(await pool`select process from sealing_key_holders`).toEqual([])
})

test('another key of the same id is found by the proof', async () => {
  const [kept] = await pool<{ proof: Buffer }[]>`select proof from sealing_keys`
  const owner = openPool({ url: database.url, max: 1, name: 'test' })
  const other = Buffer.from(kept?.proof ?? '')
  other[20] = (other[20] ?? 0) ^ 1
  await owner`update svc.sealing_keys set proof = ${other}`
  await expect(holdKeys(pool, dir)).rejects.toThrow(
    `master key ${known} does not open what this database has of it`,
  )
  await owner`update svc.sealing_keys set proof = ${kept?.proof ?? null}`
  await owner.end()
})
