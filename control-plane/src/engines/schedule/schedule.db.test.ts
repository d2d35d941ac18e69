import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { eventually, makeDevices, openPipeline } from '../../../test/harness/pipeline.ts'
import type { Job } from './job.ts'
import { prune, prunes, type Prunable } from './prune.ts'
import { JobRunner } from './runner.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db } = on

let runners: JobRunner[] = []
beforeEach(async () => {
  await sql`truncate schedules`
  on.logged.length = 0
})
afterEach(async () => {
  await Promise.all(runners.map((runner) => runner.close()))
  runners = []
})

const start = (name: string, jobs: readonly Job[], leaseMs = 60_000) => {
  const runner = new JobRunner({ db, runner: name, leaseMs, log: on.deps.log }, jobs)
  runners.push(runner)
  runner.start()
  return runner
}
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const schedule = async () =>
  (await sql`select *, extract(epoch from due_at - now())::float8 as due_in from schedules`)[0]

test('of three runners one at a time runs a job', async () => {
  let running = 0
  let most = 0
  let runs = 0
  const run = async () => {
    most = Math.max(most, ++running)
    await sleep(15)
    running--
    runs++
  }
  for (const name of ['a', 'b', 'c']) start(name, [{ name: 'job', everyMs: 20, run }])
  await eventually(() => runs >= 8, 'eight runs')
  expect(most).toBe(1)
})

test('runs that were missed are made up for by one', async () => {
  await sql`insert into schedules (name, every_ms, due_at) values ('job', 60000, now() - interval '1 day')`
  let runs = 0
  start('a', [
    { name: 'job', everyMs: 60_000, run: async () => ++runs },
    { name: 'quick', everyMs: 20, run: async () => {} },
  ])
  await eventually(() => runs === 1, 'a run')
  await sleep(120)
  expect(runs).toBe(1)
})

test('a failure is recorded and logged, and the job runs again', async () => {
  let runs = 0
  const run = async () => {
    if (++runs === 1) throw new Error('no luck\0')
    await sleep(60)
  }
  start('a', [{ name: 'job', everyMs: 20, run }])
  await eventually(async () => (await schedule())?.['lastError'] === 'Error: no luck\u{fffd}', 'the error')
  expect(on.logged).toMatchObject([{ level: 'error', details: { job: 'job' } }])
  await eventually(async () => (await schedule())?.['lastError'] === null, 'a good run')
})

test('a dead runner’s job is taken over when its lease has run out, not before', async () => {
  const began = Date.now()
  await sql`
    insert into schedules (name, every_ms, leased_by, leased_until) values ('job', 20, 'dead', now() + interval '300 ms')`
  let ran = 0
  start('a', [{ name: 'job', everyMs: 20, run: async () => void (ran ||= Date.now()) }])
  await eventually(() => ran > 0, 'taking over')
  expect(ran - began).toBeGreaterThanOrEqual(300)
})

test('a job that runs longer than a lease is held on to', async () => {
  let runs = 0
  const long = async () => {
    runs++
    await sleep(2_500)
  }
  // Renewed three times meanwhile, also by a process that stood still for a while.
  const [jobs, leaseMs] = [[{ name: 'long', everyMs: 20, run: long }], 800]
  start('a', jobs, leaseMs)
  await eventually(() => runs === 1, 'starting')
  start('b', jobs, leaseMs)
  await sleep(2_000)
  expect(runs).toBe(1)
})

test('closing waits for what is running', async () => {
  let done = false
  let begun = false
  const runner = start('a', [
    {
      name: 'job',
      everyMs: 20,
      run: async () => {
        begun = true
        await sleep(100)
        done = true
      },
    },
  ])
  await eventually(() => begun, 'beginning')
  await runner.close()
  expect(done).toBe(true)
  expect(await schedule()).toMatchObject({ leasedBy: null, lastError: null })
})

test('a period that changed counts from the next start on', async () => {
  await sql`insert into schedules (name, every_ms, due_at) values ('job', 86400000, now() + interval '1 day')`
  start('a', [{ name: 'job', everyMs: 50, run: async () => {} }])
  await eventually(async () => (await schedule())?.['lastRunAt'] !== null, 'a run')
})

test('what goes by the clock is due when the clock says so, and is made up for once', async () => {
  let runs = 0
  const jobs: Job[] = [
    { name: 'nightly', cron: '17 3 * * *', run: async () => ++runs },
    { name: 'quick', everyMs: 20, run: async () => {} },
  ]
  const nightly = async () =>
    (await sql<{ dueAt: Date }[]>`select due_at from schedules where name = 'nightly'`)[0]?.dueAt
  const first = start('a', jobs)
  await eventually(async () => (await nightly()) !== undefined, 'being declared')
  const due = await nightly()
  expect(due?.toISOString()).toMatch(/T03:17:00.000Z$/)
  expect(due?.getTime()).toBeGreaterThan(Date.now())
  await first.close()
  await sql`update schedules set due_at = now() - interval '3 days' where name = 'nightly'`
  start('b', jobs) // another start, days later
  await eventually(() => runs === 1, 'making up for it')
  await eventually(async () => (await nightly())?.getTime() === due?.getTime(), 'being due again')
  expect(runs).toBe(1)
})

test('a job that goes by another time than before goes by it at once', async () => {
  await sql`insert into schedules (name, every_ms, due_at) values ('job', 86400000, now() + interval '1 day')`
  start('a', [
    { name: 'job', cron: '17 3 * * *', run: async () => {} },
    { name: 'quick', everyMs: 20, run: async () => {} },
  ])
  await eventually(async () => {
    const [row] = await sql`select * from schedules where name = 'job'`
    return row?.['everyMs'] === null && row?.['cron'] === '17 3 * * *'
  }, 'its new time')
})

test('what has had its time is removed, what has not stays', async () => {
  const { partnerId, orgId } = on
  const user = '01900000-0000-7000-8000-000000000001'
  await sql`insert into users (id, email, name) values (${user}, 'a@example.com', 'A')`
  const [device = ''] = await makeDevices(on, 1)
  for (const [token, age] of [
    ['old', '366 days'],
    ['young', '364 days'],
  ] as const)
    await sql`insert into device_past_tokens (device_id, token_sha256, partner_id, org_id, generation, retired_at)
      values (${device}, ${Buffer.from(token)}, ${partnerId}, ${orgId}, 1, now() - ${age}::interval)`
  const provider = crypto.randomUUID()
  await sql`insert into sso_providers (id, partner_id, org_id, name, issuer, client_id, client_secret, scopes, attribute_mapping)
    values (${provider}, ${partnerId}, ${orgId}, 'P', 'https://a', 'c', '', 'openid', '{}')`
  for (const [id, days] of [
    [user, -2],
    [partnerId, 1],
  ] as const) {
    const when = sql`now() + ${days} * interval '1 day'`
    const old = sql`now() + ${days < 0 ? -10 : 0} * interval '1 day'`
    await sql`insert into idempotency (partner_id, caller, route, key_hash, body_hash, created_at)
      values (${partnerId}, 'c', 'r', ${Buffer.from(id)}, '', ${old})`
    await sql`insert into rate_limits (bucket, subject, hits, resets_at) values ('b', ${Buffer.from(id)}, 1, ${when})`
    await sql`insert into refresh_families (id, user_id, mfa, auth_epoch, expires_at) values (${id}, ${user}, true, 1, ${when})`
    await sql`insert into refresh_tokens (token_hash, family_id, idle_expires_at) values (${Buffer.from(id)}, ${partnerId === id ? id : user}, ${when})`
    await sql`insert into mfa_challenges (token_hash, user_id, expires_at) values (${Buffer.from(id)}, ${user}, ${when})`
    await sql`insert into sso_logins (state_hash, id, provider_id, config_version, browser_hash, sealed, expires_at)
      values (${Buffer.from(id)}, ${id}, ${provider}, 1, '', '', ${when})`
    await sql`insert into sso_codes (code_hash, user_id, provider_id, browser_hash, mfa, expires_at)
      values (${Buffer.from(id)}, ${user}, ${provider}, '', false, ${when})`
    await sql`insert into revocations (id, partner_id, org_id, device_id, credential_version, reason, at)
      values (${id}, ${partnerId}, ${orgId}, ${id}, 1, 'r', ${old})`
    await sql`insert into outbox (id, partner_id, type, subject_id, payload, relayed_at) values (${id}, ${partnerId}, 't', ${id}, '{}', ${old})`
    await sql`insert into gateway_nodes (node, version, lease_until) values (${id}, '1', ${when})`
    await sql`insert into schedule_entries (id, partner_id, key, task, payload, timing, misfire, updated_at)
      values (${id}, ${partnerId}, ${id}, 't', '{}', '{}', 'once', now() + ${days < 0 ? -100 : 0} * interval '1 day')`
    await sql`insert into schedule_runs (schedule_id, due_at, partner_id, enqueued_at)
      values (${id}, now(), ${partnerId}, now() + ${days < 0 ? -100 : 0} * interval '1 day')`
    await sql`insert into edge_watermarks values (0, ${id}, ${when}, ${when})`
  }
  for (const [purpose, when] of [
    ['invite', -1],
    ['reset_password', 1],
  ] as const)
    await sql`insert into user_tokens (user_id, purpose, token_hash, created_at, expires_at)
      values (${user}, ${purpose}, ${Buffer.from(purpose)}, now(), now() + ${when} * interval '1 h')`
  const other = crypto.randomUUID()
  await sql`insert into users (id, email, name) values (${other}, 'b@example.com', 'B')`
  await sql`insert into phone_codes (user_id, phone_number, code_hash, expires_at)
    values (${user}, '+1', '', now() - interval '1 s'), (${other}, '+1', '', now() + interval '1 h')`
  await sql`insert into mfa_setups (user_id, secret, recovery_code_hashes, recovery_codes, expires_at) values (${user}, '', '{}', '', now() - interval '1 s')`
  for (const what of Object.keys(prunes) as Prunable[]) {
    const count = await sql<{ n: number }[]>`select count(*)::int as n from ${sql(what)}`
    const before = count[0]?.n ?? 0
    await prune(db, what)
    const [after] = await sql<{ n: number }[]>`select count(*)::int as n from ${sql(what)}`
    expect([what, before > 0, after?.n], what).toEqual([what, before > 0, what === 'mfa_setups' ? 0 : 1])
  }
})
