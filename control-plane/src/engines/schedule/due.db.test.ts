import { afterAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, openPipeline } from '../../../test/harness/pipeline.ts'
import { inTransaction } from '../../kernel/db.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { actOnDue, overdue } from './due.ts'
import { Occasion } from './occasion.ts'
import { enqueueNamed } from './queue/enqueue.ts'
import { type Plan, plan, setPaused, unplan } from './plan.ts'
import type { Timing } from './timing.ts'
import { DueWatch } from './watch.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, db, partnerId, orgId } = on

interface Job {
  task: string
  payload: Record<string, unknown>
  key: string
}
let jobs: Job[] = []
/** Where the queue would stand: a table, so that what is rolled back is gone. */
const enqueue = async (tx: Db, task: string, payload: Record<string, unknown>, { key }: { key: string }) => {
  await tx.run`insert into enqueued values (${JSON.stringify({ task, payload, key })})`
}
const { log } = on.deps
const act = async (by = enqueue) => {
  await actOnDue({ db, enqueue: by, log })
  jobs = (await sql<{ job: string }[]>`select job from enqueued`).map(({ job }) => JSON.parse(job) as Job)
}

await sql`create table enqueued (job text not null)`
await sql`grant all on enqueued to svc_worker`
beforeEach(async () => {
  await sql`truncate schedule_entries, schedule_runs, enqueued cascade`
})

const hourly: Timing = { kind: 'cron', expression: '0 * * * *', zone: 'Europe/Berlin' }
interface Payload {
  reportId: number
  schedule?: Occasion | undefined
}
const task = {
  name: 'report.run',
  payload: z.object({ reportId: z.number(), schedule: Occasion.optional() }),
}
const wanted = (more: Partial<Plan<Payload>> = {}): Plan<Payload> => ({
  partnerId,
  orgId,
  key: 'report',
  task,
  payload: { reportId: 7 },
  timing: hourly,
  ...more,
})
const planned = (more?: Partial<Plan<Payload>>) => db.tx((tx) => plan(tx, wanted(more)))
const dueNow = (agoSeconds = 5) =>
  sql`update schedule_entries set due_at = date_trunc('milliseconds', now()) - ${agoSeconds} * interval '1 second'`
const entry = async () =>
  (
    await sql<{ dueAt: Date | null; runsLeft: number | null }[]>`
    select due_at, runs_left from schedule_entries`
  )[0]

test('what is due is enqueued once, with its moment, and is due again later', async () => {
  const { id } = await planned()
  await dueNow()
  const before = await entry()
  await act()
  await act()
  const dueAt = before?.dueAt?.toISOString()
  expect(jobs).toEqual([
    {
      task: 'report.run',
      payload: { reportId: 7, schedule: { id, partnerId, orgId, dueAt } },
      key: `schedule:${id}:${dueAt}`,
    },
  ])
  expect((await entry())?.dueAt?.getTime()).toBeGreaterThan(Date.now())
})

test('whoever wakes up: a hundred due entries and four processes at once', async () => {
  await Promise.all(Array.from({ length: 120 }, (_, n) => planned({ key: `report-${n}` })))
  await dueNow()
  await Promise.all(Array.from({ length: 4 }, () => actOnDue({ db, enqueue, log })))
  await act()
  expect(new Set(jobs.map(({ key }) => key)).size).toBe(120)
  expect(jobs).toHaveLength(120)
})

test('one that somebody else has in hand is in nobody’s way', async () => {
  await planned({ key: 'in hand' })
  await planned()
  await dueNow()
  await sql.begin(async (tx) => {
    await tx`select from schedule_entries where key = 'in hand' for update`
    await act()
    expect(jobs).toHaveLength(1)
  })
  await act()
  expect(jobs).toHaveLength(2)
})

test('a crash in the middle takes back all of it', async () => {
  await planned()
  await dueNow()
  const crash = async (...given: Parameters<typeof enqueue>) => {
    await enqueue(...given)
    throw new Error('crash')
  }
  await act(crash)
  expect(jobs).toEqual([])
  expect(await sql`select from schedule_runs`).toHaveLength(0)
  await sql`update schedule_entries set held_until = null`
  await act()
  expect(jobs).toHaveLength(1)
})

test('a moment that was acted upon is not acted upon again, also when it is planned anew', async () => {
  await planned()
  await dueNow()
  const before = await entry()
  await act()
  await sql`update schedule_entries set due_at = ${before?.dueAt ?? null}`
  await act()
  expect(jobs).toHaveLength(1)
  expect((await entry())?.dueAt?.getTime()).toBeGreaterThan(Date.now())
})

test('moments that were missed are made up for by one, or by none', async () => {
  await planned({ key: 'once' })
  await planned({ key: 'skip', misfire: 'skip' })
  await dueNow(86_400)
  await act()
  expect(jobs.map(({ payload }) => payload['schedule'])).toHaveLength(1)
  const late = await sql`select key from schedule_entries where due_at < now()`
  expect(late).toEqual([])
})

test('a timer happens once, also one for a moment just past, is replaced by its key, and ends', async () => {
  const at = new Date(Date.now() - 1_000)
  const timing = { kind: 'once', at: at.toISOString() } as const
  const first = await planned({ timing: { kind: 'once', at: '2999-01-01T00:00:00Z' } })
  const second = await planned({ timing })
  expect(second).toEqual({ id: first.id, dueAt: at })
  await act()
  await act()
  expect(jobs).toHaveLength(1)
  expect((await entry())?.dueAt).toBeNull()
})

test('so many runs and no more; none after the end', async () => {
  await planned({ maxRuns: 2 })
  for (let n = 0; n < 2; n++) {
    await dueNow(2 - n)
    await act()
  }
  expect(await entry()).toEqual({ dueAt: null, runsLeft: 0 })
  expect(jobs).toHaveLength(2)
  expect((await planned({ endsAt: new Date(Date.now() + 1) })).dueAt).toBeNull()
})

const on7 = { partnerId, key: 'report' }
const pause = (paused: boolean) => db.tx((tx) => setPaused(tx, on7, paused))

test('paused and taken back', async () => {
  await planned()
  await pause(true)
  expect((await entry())?.dueAt).toBeNull()
  await pause(false)
  expect((await entry())?.dueAt?.getTime()).toBeGreaterThan(Date.now())
  expect(await db.tx((tx) => unplan(tx, on7))).toBe(true)
  expect(await db.tx((tx) => unplan(tx, on7))).toBe(false)
  expect(await pause(true)).toBe(false)
})

test('going on with what was not paused, or is over, changes nothing', async () => {
  await planned({ maxRuns: 1 })
  await dueNow()
  const before = await entry()
  expect(await pause(false)).toBe(true)
  expect(await entry()).toEqual(before)
  await act()
  await pause(true)
  await pause(false)
  expect(await entry()).toEqual({ dueAt: null, runsLeft: 0 })
})

test.each([
  ['once', 1],
  ['skip', 0],
] as const)('a timer whose moment passed while it was paused, with misfire %s', async (misfire, times) => {
  await planned({ timing: { kind: 'once', at: new Date(Date.now() + 60_000).toISOString() }, misfire })
  await pause(true)
  await sql`
    update schedule_entries
    set timing = jsonb_build_object('kind', 'once', 'at', to_char(now() - interval '2 min', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))`
  await pause(false)
  await act()
  await pause(true)
  await pause(false)
  await act()
  expect(jobs).toHaveLength(times)
})

test('another partner’s entry of the same key is another entry', async () => {
  await planned()
  const other = '01900000-0000-7000-8000-00000000000f'
  await db.tx((tx) => plan(tx, wanted({ partnerId: other, orgId: null })))
  await db.tx((tx) => unplan(tx, on7))
  expect(await sql`select partner_id from schedule_entries`).toEqual([{ partnerId: other }])
})

test('out of another organization nobody plans, pauses or takes back', async () => {
  await planned()
  const scope = { kind: 'tenant', partnerId, orgs: ['01900000-0000-7000-8000-00000000000f'] } as const
  const out = <T>(work: (tx: Db) => Promise<T>) => inTransaction(on.pool, scope, work)
  expect(await out((tx) => unplan(tx, on7))).toBe(false)
  expect(await out((tx) => setPaused(tx, on7, true))).toBe(false)
  await expect(out((tx) => plan(tx, wanted()))).rejects.toMatchObject({ code: '42501' })
  await expect(out((tx) => plan(tx, wanted({ key: 'new' })))).rejects.toMatchObject({ code: '42501' })
})

test('what cannot be acted upon is held and reported, and the others are acted upon', async () => {
  on.logged.length = 0
  await Promise.all(Array.from({ length: 105 }, (_, n) => planned({ key: `report-${n}` })))
  await planned({ key: 'nobody’s', task: { ...task, name: 'gone' } })
  await planned({ key: 'broken' })
  await sql`update schedule_entries set timing = '{"kind": "cron", "expression": "x", "zone": "UTC"}' where key = 'broken'`
  await dueNow()
  const strict: typeof enqueue = async (tx, name, payload, options) => {
    if (name === 'gone') await tx.run`select enqueue('gone', '{}'::jsonb)`
    await enqueue(tx, name, payload, options)
  }
  await act(strict)
  expect(new Set(jobs.map(({ key }) => key)).size).toBe(105)
  const held = await sql`
    select key, last_error from schedule_entries where due_at <= now() and held_until > now() order by key`
  expect(held).toMatchObject([
    { key: 'broken', lastError: expect.stringContaining('CronPattern') },
    { key: 'nobody’s', lastError: expect.stringContaining(`no task is named 'gone'`) },
  ])
  expect(on.logged.filter(({ level }) => level === 'error')).toHaveLength(2)
  expect(await overdue(db)).toMatchObject({ held: 2 })
  await act(strict)
  expect(on.logged.filter(({ level }) => level === 'error')).toHaveLength(2)
})

test('a payload that is not the task’s, or too large, is refused', async () => {
  await expect(planned({ payload: { reportId: 'x' } as never })).rejects.toThrow('expected number')
  const large = { ...task, payload: z.object({ reportId: z.number(), text: z.string() }) }
  const payload = { reportId: 7, text: 'x'.repeat(70_000) }
  await expect(db.tx((tx) => plan(tx, { ...wanted(), task: large, payload }))).rejects.toMatchObject({
    code: '23514',
  })
})

test('a moment that is near is told of, and one that nobody told of is found', async () => {
  const watches = [60_000, 50].map((everyMs) => new DueWatch({ db, enqueue, log, everyMs }))
  const [far, quick] = watches as [DueWatch, DueWatch]
  const listeners = () =>
    sql`select from pg_stat_activity where query like 'listen%' and datname = current_database()`
  const happened = async () => (await sql`select from enqueued`).length
  far.start()
  await eventually(async () => (await listeners()).length > 0, 'listening')
  await new Promise((resolve) => setTimeout(resolve, 50)) // its first look is over
  await planned({ timing: { kind: 'once', at: new Date(Date.now() + 150).toISOString() } })
  await eventually(async () => (await happened()) === 1, 'the moment that was told of')
  await far.close()
  await planned({ key: 'later' })
  quick.start()
  await sql`update schedule_entries set due_at = now() where key = 'later'`
  await eventually(async () => (await happened()) === 2, 'the moment that was found')
  await quick.close()
})

test('a timing that is none is refused', async () => {
  const timing = { kind: 'cron', expression: 'often', zone: 'UTC' } as const
  await expect(planned({ timing })).rejects.toThrow('five fields')
})

test('over the job queue: the job is there with the run, and once', async () => {
  await sql`insert into job_tasks values ('report.run', 3) on conflict do nothing`
  await planned()
  await dueNow()
  const over = { db, enqueue: enqueueNamed, log }
  await Promise.all([actOnDue(over), actOnDue(over)])
  const [entryNow] = await sql<{ id: string }[]>`select id from schedule_entries`
  const waiting = await sql`
    select task_identifier, key from graphile_worker.jobs where key like ${`schedule:${entryNow?.id}:%`}`
  expect(waiting).toMatchObject([{ taskIdentifier: 'report.run' }])
})
