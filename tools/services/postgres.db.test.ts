import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { isAlive } from './abandoned.ts'
import { startPostgres } from './postgres.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-services-'))
chmodSync(folder, 0o711)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const dataDir = join(folder, 'postgres')

// Quick, and still with everything that makes data survive a stop and a crash.
const start = (settings = {}) =>
  startPostgres({ dataDir, settings: { synchronous_commit: 'off', ...settings } })

async function query(url: string, statement: string) {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    return await sql.unsafe(statement)
  } finally {
    await sql.end()
  }
}

async function gone(pid: number, withinMs = 10_000) {
  for (const end = Date.now() + withinMs; isAlive(pid); ) {
    if (Date.now() > end) throw new Error(`process ${pid} is still there`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('it starts, answers, stops, and goes on with the same data', async () => {
  const first = await start()
  expect(
    await query(first.url, `select current_setting('server_version_num')::int / 10000 as major`),
  ).toEqual([{ major: 18 }])
  await query(first.url, 'create table kept as select 1 as n')
  await first.stop()
  expect(isAlive(first.pid)).toBe(false)
  expect(existsSync(join(dataDir, 'postmaster.pid'))).toBe(false)

  const second = await start()
  expect(await query(second.url, 'select n from kept')).toEqual([{ n: 1 }])
  expect(statSync(dataDir).mode & 0o777).toBe(0o700)
  await second.stop()
})

test('it starts again after a crash, with a session open at that time', async () => {
  const first = await start()
  const sql = postgres(first.url, { max: 1 })
  const pending = sql`select pg_sleep(60)`.catch((error: Error) => error)
  await sql.reserve().then((reserved) => reserved.release())
  await first.kill()
  expect(existsSync(join(dataDir, 'postmaster.pid'))).toBe(true)
  const second = await start()
  expect(await query(second.url, 'select n from kept')).toEqual([{ n: 1 }])
  await second.stop()
  await sql.end({ timeout: 0 })
  await pending
})

test('a lock file whose number belongs to another process now does not stop it', async () => {
  writeFileSync(join(dataDir, 'postmaster.pid'), `${process.pid}\n${dataDir}\n`)
  const server = await start()
  await server.stop()
})

test('a second server on the same data is refused, and the first goes on', async () => {
  const server = await start()
  await expect(start()).rejects.toThrow(`in use by another server (process ${server.pid})`)
  expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
  await server.stop()
})

test('an error of the server is told in its own words', async () => {
  await expect(start({ shared_buffers: 'much' })).rejects.toThrow(
    /invalid value for parameter "shared_buffers"/,
  )
})

test('a folder of something else is not touched', async () => {
  const other = join(folder, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'letter'), 'dear')
  await expect(startPostgres({ dataDir: other })).rejects.toThrow(/neither empty nor a Postgres data folder/)
  expect(readFileSync(join(other, 'letter'), 'utf8')).toBe('dear')
})

/** A process that starts a server on the data and says which; then it does `after`. */
async function starter(after: string) {
  const services = JSON.stringify(new URL('../services.ts', import.meta.url).href)
  const script = `import { startPostgres } from ${services}
    const server = await startPostgres({ dataDir: ${JSON.stringify(dataDir)} })
    console.log(server.pid)
    ${after}`
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, pid: Number(output.toString()) }
}

test.each([
  ['is killed', 'setInterval(() => {}, 1000)', 'SIGKILL' as const],
  ['leaves without stopping it', 'process.exit(0)', undefined],
])('the server ends when its starter %s', async (_, after, signal) => {
  const { child, pid } = await starter(after)
  if (signal) child.kill(signal)
  await gone(pid)
  const server = await start()
  expect(await query(server.url, 'select n from kept')).toEqual([{ n: 1 }])
  await server.stop()
})

test('data that need not survive are removed by the stop', async () => {
  const other = join(folder, 'disposable')
  const server = await startPostgres({ dataDir: other, persistent: false })
  expect(await query(server.url, 'show fsync')).toEqual([{ fsync: 'off' }])
  await server.stop()
  expect(existsSync(other)).toBe(false)
})
