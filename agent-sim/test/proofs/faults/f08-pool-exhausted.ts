import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { Api } from '../../system/harness/api.ts'
import { until } from '../../system/harness/until.ts'
import { all, none, type Row } from '../verdict.ts'
import { call, keepCalling, slowest, type Told, unclear } from './caller.ts'
import type { Fault } from './fault.ts'
import type { Scene } from './scene.ts'

/** Several times the connections of the API's pool. */
const crowd = 40
/** DATABASE_POOL where nobody says otherwise. */
const poolSize = 10
const sleeper = 'sleeper'
/** It waits two seconds for a connection, and there two for its lock; three times that on a busy machine. */
const answersWithinMs = 12_000
const logins = 5
const loginWithinMs = 6_000
const leastMs = 8_000
/** Sessions that are opened at once. */
const atOnce = 20

/**
 * More requests than connections, each of which waits for a row that somebody else holds. Where the server is its own, all the
 * connections that it has left are taken as well.
 */
export const poolExhausted: Fault = {
  id: 'F8',
  fault: 'connections to Postgres exhausted',
  expected: 'a bounded wait, then 503; people can log in; ready says why',
  ownPostgres: true,
  plant: {
    guard: 'the connections that are kept for logins',
    variables: { SVC_TEST_WITHOUT: 'pool_reserve' },
    noticed: /logins that were/,
  },
  run: async (scene) => {
    const { system, api, props } = scene
    const { organizationId, email, password } = system.tenant
    const holder = await system.sql.reserve()
    await holder`begin`
    await holder`select from organizations where id = ${organizationId} for no key update`
    const path = `/orgs/organizations/${organizationId}`
    const flood = keepCalling(api, ['PATCH', path, { name: 'Crowded' }], { callers: crowd, pauseMs: 10 })
    const letIn: Told[] = []
    let ready = { status: 0, failing: [] as string[] }
    try {
      const waited = new Set<number>()
      await until('each of its connections has waited for the row', async () => {
        // Not the holder: what it sees of others stays as it was for as long as its transaction lasts.
        const rows = await system.sql<{ pid: number }[]>`
          select pid from pg_stat_activity where application_name = 'svc-api' and wait_event_type = 'Lock'`
        for (const { pid } of rows) waited.add(pid)
        return waited.size >= poolSize
      })
      await takeAll(scene)
      const lasts = sleep(Math.max(leastMs, props.seconds * 500))
      await until('somebody waited in vain', async () => {
        ready = await readiness(system.apiUrl)
        return ready.failing.includes('database_pool')
      })
      const anybody = new Api(system.apiUrl)
      for (let n = 0; n < logins; n++)
        letIn.push(await call(anybody, ['POST', '/auth/login', { email, password }]))
      await lasts
    } finally {
      await holder`rollback`
      // They would sleep on, whoever has gone.
      await holder`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${sleeper}`
      holder.release()
      await flood.end()
    }
    const again = await call(api, ['GET', path])
    return [
      slowest('p99 of the time until a request of the crowd is answered', answersWithinMs, flood.told),
      none(
        `their answers but success and 503 with retryAfter, of ${flood.told.length}`,
        unclear(flood.told, [200]),
      ),
      none(
        `logins that were not let in, of ${logins}`,
        letIn.filter(({ status }) => status !== 200).map(({ status }) => String(status)),
      ),
      slowest('p99 of the time until a login is answered', loginWithinMs, letIn),
      readyRow(ready),
      all('requests that are answered once it is over', 1, again.status === 200 ? 1 : 0),
    ]
  },
}

async function readiness(apiUrl: string): Promise<{ status: number; failing: string[] }> {
  const answer = await fetch(`${apiUrl}/health/ready`)
  const { failing } = (await answer.json()) as { failing: string[] }
  return { status: answer.status, failing }
}

/** It stays where it is: logins are to come through, and elsewhere it would be no better. */
const readyRow = ({ status, failing }: { status: number; failing: string[] }): Row => ({
  what: 'what /health/ready says',
  expected: '200 database_pool',
  seen: `${status} ${failing.join()}`,
  pass: status === 200 && failing.includes('database_pool'),
})

/** Takes what connections the server has left, and sleeps on them. */
async function takeAll(scene: Scene): Promise<void> {
  const server = scene.postgres
  const [row] = await withServer(
    server.adminUrl,
    (sql) => sql<{ most: number }[]>`
    select current_setting('max_connections')::int as most`,
  )
  const most = row?.most ?? 0
  const sleepers = postgres(server.adminUrl, {
    max: most,
    onnotice: () => undefined,
    connect_timeout: 30,
    connection: { application_name: sleeper },
  })
  scene.later(() => sleepers.end({ timeout: 0 }))
  let refused = false
  for (let taken = 0; !refused && taken < most; taken += atOnce) {
    for (let n = 0; n < atOnce; n++)
      sleepers`select pg_sleep(600)`.catch((error: { code?: string }) => {
        refused ||= error.code === '53300'
      })
    await sleep(100)
  }
  await until('the server has no connection left', () => refused)
}

async function withServer<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}
