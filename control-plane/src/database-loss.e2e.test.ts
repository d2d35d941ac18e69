import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Postgres, startPostgres } from '../../tools/services.ts'
import { startProgram } from '../test/harness/program.ts'

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

const anybody = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ email: 'anybody@example.com', password: 'correct horse battery staple' }),
  signal: AbortSignal.timeout(300_000),
}

const ready = async (apiUrl: string) => {
  const answer = await fetch(`${apiUrl}/health/ready`)
  const { failing } = (await answer.json()) as { failing: string[] }
  return { status: answer.status, failing }
}
const well = { status: 200, failing: [] }

test('it outlives its database, killed, stopped or hanging under load, and works again seconds after that is back', async () => {
  const program = startProgram({
    DATABASE_URL: database.url,
    KEYS_DIR: join(folder, 'keys'),
    EDGE_SHARED_KEY: randomBytes(32).toString('hex'),
    PORT: '0',
    INTERNAL_PORT: '0',
    METRICS_PORT: '0',
    RELAY_MS: '20', // transactions of background work, too
    COMMAND_SWEEP_MS: '20',
  })
  const { apiUrl = '' } = await program.isUp
  for (const end of ['kill', 'stop', 'hang'] as const) {
    expect(await ready(apiUrl)).toEqual(well)
    const load = knock(apiUrl)
    await sleep(500)
    await database[end]()
    await expect.poll(() => ready(apiUrl)).toEqual({ status: 503, failing: ['postgres'] })
    expect((await fetch(`${apiUrl}/health`)).status).toBe(200)
    if (end === 'hang') {
      const refused = await fetch(`${apiUrl}/api/v1/auth/login`, anybody)
      expect(refused.status).toBe(503)
      database.goOn()
    } else await startDatabase()
    await expect.poll(() => ready(apiUrl)).toEqual(well)
    await sleep(500)
    // What cannot be answered is 503, never a fault; 429: the limit of wrong keys.
    expect([...(await load.end())].filter((status) => ![401, 429, 503].includes(status))).toEqual([])
  }
  expect(program.exitCode()).toBe(null)
  program.kill()
  expect(await program.ended).toEqual({ code: 0, err: '' })
})
