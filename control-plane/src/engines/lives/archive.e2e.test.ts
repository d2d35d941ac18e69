import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { Registry } from 'prom-client'
import { afterAll, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../../../tools/services.ts'
import { workerDb } from '../../kernel/db.ts'
import { archiveMetrics } from './archive.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-archive-'))
let server: Postgres | undefined
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('says whether the log is archived, as it fails and as it works again', async () => {
  server = await startPostgres({
    dataDir: join(folder, 'pg'),
    persistent: false,
    settings: { wal_level: 'replica', archive_mode: 'on' },
    onNotice: () => undefined,
  })
  const pool = postgres(server.url, { max: 1, onnotice: () => undefined })
  const metrics = new Registry()
  const failures: unknown[] = []
  archiveMetrics(metrics, workerDb(pool, { kind: 'system' }), { warn: (details) => failures.push(details) })
  const shown = async () => /^svc_database_archive_failing (\S+)$/m.exec(await metrics.metrics())?.[1]
  const until = async (value: string) => {
    for (let n = 0; n < 100 && (await shown()) !== value; n++) {
      // What has nothing in it is not archived.
      await pool`create table piece ()`
      await pool`drop table piece`
      await pool`select pg_switch_wal()`
      await sleep(100)
    }
    return shown()
  }
  const archive = async (command: string) => {
    await pool.unsafe(`alter system set archive_command = '${command}'`)
    await pool`select pg_reload_conf()`
  }
  await archive('true')
  expect(await shown()).toBe('0')
  await archive('false')
  expect(await until('1')).toBe('1')
  await archive('true')
  expect(await until('0')).toBe('0')
  expect(failures).toEqual([])
  await pool.end()
})
