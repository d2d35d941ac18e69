import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../tools/services.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-loss-'))
let database: Postgres
/** The password is in the cluster, so the URL stays the same. */
const startDatabase = async () => {
  database = await startPostgres({
    dataDir: database?.dataDir ?? join(folder, 'pg'),
    port: database?.port,
    persistent: true,
    onNotice: () => undefined,
  })
}
beforeAll(startDatabase)
afterAll(async () => {
  await database.stop()
  rmSync(database.dataDir, { recursive: true, force: true })
  rmSync(folder, { recursive: true, force: true })
})

/** The program as an operator runs it: both roles in one process. */
async function startProgram(env: Record<string, string>) {
  const program = ['--import', 'tsx', join(import.meta.dirname, 'main.ts')]
  const child = spawn(process.execPath, program, { env: { PATH: process.env['PATH'] ?? '', ...env } })
  let err = ''
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString()
  })
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code))
  })
  const apiUrl = await new Promise<string>((resolve, reject) => {
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      const line = out.split('\n').find((text) => text.includes('control plane is up'))
      if (line) resolve((JSON.parse(line) as { apiUrl: string }).apiUrl)
    })
    void ended.then((code) => reject(new Error(`it ended with ${code}: ${err}`)))
  })
  return { child, ended, apiUrl, errors: () => err }
}

/** Logins that keep coming, each a transaction of its own whatever it answers. Resolves with the statuses seen. */
function knock(apiUrl: string) {
  const seen = new Set<number>()
  let ends = false
  const one = async (client: number) => {
    for (let n = 0; !ends; n++) {
      const body = JSON.stringify({
        enrollmentKey: `svce_${client}_${n}`,
        hostname: 'h',
        osType: 'linux',
        architecture: 'x64',
        agentVersion: '1',
      })
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${apiUrl}/api/v1/agents/enroll`, { method: 'POST', headers, body })
      seen.add(answer.status)
      await answer.body?.cancel()
      await sleep(5)
    }
  }
  const clients = Promise.all([1, 2, 3, 4].map(one))
  return {
    end: async () => {
      ends = true
      await clients
      return seen
    },
  }
}

const isReady = async (apiUrl: string) => (await fetch(`${apiUrl}/health/ready`)).status === 200

test('it outlives its database, killed or stopped under load, and works again seconds after that is back', async () => {
  const { child, ended, apiUrl, errors } = await startProgram({
    DATABASE_URL: database.url,
    KEYS_DIR: join(folder, 'keys'),
    EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
    PORT: '0',
    INTERNAL_PORT: '0',
    METRICS_PORT: '0',
    RELAY_MS: '20', // transactions of background work, too
    COMMAND_SWEEP_MS: '20',
  })
  for (const end of ['kill', 'stop', 'kill'] as const) {
    expect(await isReady(apiUrl)).toBe(true)
    const load = knock(apiUrl)
    await sleep(500)
    await database[end]()
    await expect.poll(() => isReady(apiUrl), { timeout: 5_000 }).toBe(false)
    await startDatabase()
    await expect.poll(() => isReady(apiUrl), { timeout: 10_000 }).toBe(true)
    await sleep(500)
    // What cannot be answered is 503, never a fault; 429: the limit of wrong keys.
    expect([...(await load.end())].filter((status) => ![401, 429, 503].includes(status))).toEqual([])
  }
  expect(child.exitCode).toBe(null)
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  expect(errors()).toBe('')
})
