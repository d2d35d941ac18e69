import { randomBytes } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { masterFile, readMasterKeys } from '../../src/adapters/master-keys.ts'
import { openPool } from '../../src/adapters/postgres.ts'
import { type Holding, holdKeys } from '../../src/engines/secrets/hold.ts'
import { reseal } from '../../src/engines/secrets/reseal.ts'
import { workerDb } from '../../src/kernel/db.ts'
import { masterKeyCommands } from '../../src/master-key-command.ts'
import { copyOf, databaseForFile, type TestDatabase } from '../harness/database.ts'
import { startProgram } from '../harness/program.ts'
import { Values } from './values.ts'

const database = await databaseForFile()
const folder = mkdtempSync(join(tmpdir(), 'svc-restored-'))
const [keysDir, safe] = [join(folder, 'keys'), join(folder, 'safe.key')]
const backups: TestDatabase[] = []
afterAll(async () => {
  await Promise.all(backups.map((backup) => backup.drop()))
  rmSync(folder, { recursive: true })
})

/** With values that the work adds, or finds; all connections are closed again, so that it can be copied. */
async function within<T>(
  url: string,
  work: (at: { values: Values; holding: Holding; reseal: () => Promise<unknown> }) => Promise<T>,
): Promise<T> {
  const pool = openPool({ url, role: 'svc_worker', max: 2, name: 'svc-worker' })
  const owner = openPool({ url, max: 1, name: 'test' })
  try {
    const holding = await holdKeys(pool, keysDir)
    const again = () => reseal(workerDb(pool, { kind: 'system' }), holding.ring)
    try {
      return await work({ values: new Values(owner), holding, reseal: again })
    } finally {
      await holding.close()
    }
  } finally {
    await Promise.all([pool.end(), owner.end()])
  }
}

async function backUp(): Promise<TestDatabase> {
  const backup = await copyOf(database)
  backups.push(backup)
  return backup
}

const server = (url: string) =>
  startProgram({
    NODE_ENV: 'test',
    DATABASE_URL: url,
    KEYS_DIR: keysDir,
    EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
    PORT: '0',
    INTERNAL_PORT: '0',
    METRICS_PORT: '0',
  })

test('a backup from before, within or after a rotation opens with the keys it names; without one it says which', async () => {
  const { add, use, retire } = masterKeyCommands
  const expected = await within(database.url, async ({ values, holding }) => {
    await values.add(holding.ring, 3)
    return values.expected
  })
  const [old = ''] = readMasterKeys(keysDir).keys()
  const before = await backUp()
  await add(database.url, keysDir)
  await use(database.url)
  const amid = await backUp()
  await within(database.url, async (at) =>
    expect(await at.reseal()).toEqual({ done: 3, passed: 0, stuck: 0 }),
  )
  const owner = openPool({ url: database.url, max: 1, name: 'test' })
  await owner`update svc.sealing_keys set state_since = now() - interval '1 day' where state = 'retiring'`
  await owner.end()
  expect(await retire(database.url)).toContain(`${old} is needed no more`)
  const after = await backUp()

  // As the operator was told: out of KEYS_DIR, and kept with the backups.
  renameSync(join(keysDir, 'master.key'), safe)
  const [fresh = ''] = readMasterKeys(keysDir).keys()
  const missing = `master key ${old} of this database is not in ${keysDir} (KEYS_DIR), which holds ${fresh}`
  const refused = await Promise.all([before, amid].map(({ url }) => server(url).ended))
  expect(refused).toEqual([
    { code: 1, err: missing },
    { code: 1, err: missing },
  ])
  const opens = ({ url }: TestDatabase) =>
    within(url, async ({ values, holding }) => {
      for (const [id, text] of expected) values.expected.set(id, text)
      return values.check(holding.ring)
    })
  expect(await opens(after)).toEqual({ lost: [], under: [fresh] })

  renameSync(safe, join(keysDir, masterFile(old)))
  for (const backup of [before, amid]) expect(await opens(backup)).toEqual({ lost: [], under: [old] })
  // What was restored from within the rotation goes through with it by itself.
  const running = server(amid.url)
  await running.isUp
  await within(amid.url, async ({ values, holding }) => {
    for (const [id, text] of expected) values.expected.set(id, text)
    await expect
      .poll(() => values.check(holding.ring), { timeout: 20_000, interval: 200 })
      .toEqual({ lost: [], under: [fresh] })
  })
  running.kill()
  expect(await running.ended).toMatchObject({ code: 0 })
})
