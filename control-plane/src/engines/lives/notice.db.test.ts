import { afterAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { makeDevices, openPipeline } from '../../../test/harness/pipeline.ts'
import { idsIn, online, report, result, workOn } from '../../../test/harness/work.ts'
import { openPool } from '../../adapters/postgres.ts'
import { plan } from '../schedule/plan.ts'
import { sweepCommands } from '../work/expiry.ts'
import { noticeLife } from './notice.ts'

const on = await openPipeline()
const { sql, db, partnerId, orgId, logged } = on
const app = openPool({ url: on.url, role: 'svc_app', max: 2, name: 'test-app' })
afterAll(async () => {
  await app.end()
  await on.close()
})
const { clear, queue, statusOf, apply, offered } = await workOn(on)

const notice = () =>
  noticeLife({
    db,
    app,
    askMs: 60_000,
    security: (_event, message) => logged.push({ level: 'warn', message } as never),
  })
/** As if what is here had been copied from another server. */
const restore = () => sql`update database_lives set identity = 'another/' || number`
const told = () =>
  sql<{ details: { asked: number; skippedCount: number } }[]>`
    select details from audit_log where action = 'database.restored'`

beforeEach(async () => {
  await clear()
  await sql`truncate database_lives, audit_log, schedule_entries, schedule_runs cascade`
  logged.length = 0
})

test('the first life is no restore, and neither is the next start in it', async () => {
  const first = await notice()
  expect(first).toBeGreaterThan(Date.now() - 60_000)
  expect(await notice()).toBe(first)
  expect([await told(), logged]).toEqual([[], []])
})

test('another life is noticed once, whoever starts at the same time, and told in log and audit log', async () => {
  const first = await notice()
  await restore()
  const numbers = await Promise.all([notice(), notice(), notice()])
  expect(new Set(numbers).size).toBe(1)
  expect(numbers[0]).toBeGreaterThan(first)
  expect((await told()).map(({ details }) => details)).toMatchObject([{ asked: 0, skippedCount: 0 }])
  expect(logged).toMatchObject([{ level: 'warn', message: expect.stringContaining('another life') }])
})

test('numbers rise also where the rows of lives are lost', async () => {
  await notice()
  await restore()
  const second = await notice()
  await sql`delete from database_lives where number = ${second}`
  expect(await notice()).toBeGreaterThan(second)
})

test('what a device had been given is offered again, and its answer counts; what it knows nothing of ends as ever', async () => {
  await notice()
  const [device = ''] = await makeDevices(on, 1, online)
  const [running, delivered, finished] = [await queue(device), await queue(device), await queue(device)]
  await offered(device)
  await apply(
    report(device, running, { kind: 'acked' }),
    report(device, running, { kind: 'started' }),
    report(device, delivered, { kind: 'acked' }),
    report(device, finished, result()),
  )
  const wait = await queue(device)
  await restore()
  await notice()
  // Longer ago than any of them may take.
  await sql`update commands set created_at = created_at - interval '9 days', expires_at = now() - interval '1 day'`
  await sweepCommands(db, async () => undefined)
  expect([await statusOf(running), await statusOf(delivered), await statusOf(finished)]).toEqual([
    'queued',
    'queued',
    'succeeded',
  ])
  const asked = idsIn(await offered(device))
  expect(asked.length).toBe(2) // as many as its lane takes
  expect(asked).not.toContain(finished)
  await apply(report(device, running, result()), report(device, delivered, result()))
  expect([await statusOf(running), await statusOf(delivered)]).toEqual(['succeeded', 'succeeded'])
  // Nobody is asked for ever.
  await sql`update database_lives set ask_until = now() - interval '1 second'`
  await sql`update commands set lease_until = null`
  await sweepCommands(db, async () => undefined)
  expect(await statusOf(wait)).toBe('expired')
})

test('a moment of a schedule that has passed counts as acted upon; those to come are as they were', async () => {
  const task = { name: 'report.run', payload: z.object({}) }
  const make = (key: string, timing: Parameters<typeof plan>[1]['timing']) =>
    db.tx((tx) => plan(tx, { partnerId, orgId, key, task, payload: {}, timing, maxRuns: 5 }))
  await notice()
  await make('hourly', { kind: 'cron', expression: '0 * * * *', zone: 'UTC' })
  await make('later', { kind: 'cron', expression: '0 0 1 1 *', zone: 'UTC' })
  await sql`update schedule_entries set due_at = now() - interval '3 hours' where key = 'hourly'`
  await restore()
  await notice()
  const rows = await sql<{ key: string; coming: boolean; runsLeft: number }[]>`
    select key, due_at > now() as coming, runs_left from schedule_entries order by key`
  expect([...rows]).toEqual([
    { key: 'hourly', coming: true, runsLeft: 4 },
    { key: 'later', coming: true, runsLeft: 5 },
  ])
  expect((await told())[0]?.details).toMatchObject({ skippedCount: 1 })
})
