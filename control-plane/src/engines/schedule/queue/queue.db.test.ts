import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually, openPipeline } from '../../../../test/harness/pipeline.ts'
import { declareTasks, enqueue, enqueueNamed } from './enqueue.ts'
import { type Queue, type QueueDeps, startQueue } from './queue.ts'
import { pruneFailed } from './rows.ts'
import { type QueueTask, task, type TaskContext } from './task.ts'

const on = await openPipeline({ jobPollMs: 100, jobBeatMs: 100, jobPoolDeadMs: 800 })
afterAll(() => on.close())
const { sql, db, logged } = on

const queues: Queue[] = []
beforeEach(async () => {
  await sql`truncate graphile_worker._private_jobs, job_pools, job_tasks`
  logged.length = 0
})
afterEach(async () => {
  await Promise.all(queues.splice(0).map((queue) => queue.close()))
})

async function start(tasks: readonly QueueTask[], more: Partial<QueueDeps<unknown>> = {}) {
  const { log, ports } = on.deps
  const metrics = new Registry()
  const { pipeline } = ports.config
  const queue = startQueue({ db, ports: {}, tasks, log, metrics, pipeline, drainMs: 2_000, ...more })
  queues.push(queue)
  await queue.started
  return { queue, metrics }
}

const Word = z.object({ word: z.string() })
/** A task that keeps what it was given. */
function keeping(run: (word: string, context: TaskContext) => Promise<unknown> = async () => {}) {
  const words: string[] = []
  const keep = task({
    name: 'keep',
    payload: Word,
    maxAttempts: 3,
    timeoutMs: 5_000,
    run: async ({ word }, context) => {
      words.push(word)
      await run(word, context)
    },
  })
  return { keep, words }
}
interface Row {
  attempts: number
  maxAttempts: number
  lastError: string | null
  lockedBy: string | null
  payload: unknown
  dueIn: number
}
const jobs = () => sql<Row[]>`
  select attempts, max_attempts, last_error, locked_by, payload, extract(epoch from run_at - now())::float8 as due_in
  from graphile_worker._private_jobs order by id`
/** Makes what waits for its next attempt due. */
const hurry = () => sql`update graphile_worker._private_jobs set run_at = now() where locked_at is null`
const put = (of: ReturnType<typeof keeping>['keep'], word: string, options = {}) =>
  db.tx((tx) => enqueue(tx, of, { word }, options))
const never = () => new Promise<never>(() => undefined)

test('a job goes where its transaction goes', async () => {
  const { keep, words } = keeping()
  await declareTasks(db, [keep])
  const undone = db.tx(async (tx) => {
    await enqueue(tx, keep, { word: 'undone' })
    throw new Error('changed my mind')
  })
  await expect(undone).rejects.toThrow('changed my mind')
  await put(keep, 'done')
  await start([keep])
  await eventually(async () => (await jobs()).length === 0, 'the job to be done')
  expect(words).toEqual(['done'])
})

test('what waits under the same key is replaced, and nothing is enqueued outside of a transaction', async () => {
  const { keep } = keeping()
  await declareTasks(db, [keep])
  const later = new Date(Date.now() + 60_000)
  await put(keep, 'first', { key: 'k', runAt: later })
  await put(keep, 'second', { key: 'k', runAt: later })
  await put(keep, 'other', { key: 'l', runAt: later, maxAttempts: 9 })
  expect(await jobs()).toMatchObject([
    { payload: { word: 'second' }, maxAttempts: 3 },
    { payload: { word: 'other' }, maxAttempts: 9 },
  ])
  await expect(enqueue(db, keep, { word: 'x' })).rejects.toThrow('a write needs a transaction')
})

test('only tasks that are declared, with an object of some size, are enqueued', async () => {
  const { keep } = keeping()
  await declareTasks(db, [keep])
  const named = (name: string, payload: Record<string, unknown>) =>
    db.tx((tx) => enqueueNamed(tx, name, payload))
  await expect(named('kep', {})).rejects.toMatchObject({ code: '22023', message: `no task is named 'kep'` })
  await expect(named('keep', { word: 'x'.repeat(70_000) })).rejects.toMatchObject({ code: '22023' })
  await expect(db.tx((tx) => tx.run`select enqueue('keep', '[]'::jsonb)`)).rejects.toMatchObject({
    code: '22023',
  })
  await expect(put(keep, 7 as unknown as string)).rejects.toThrow('expected string')
  expect(await jobs()).toEqual([])
})

test('two workers do each job once', async () => {
  const { keep, words } = keeping()
  const { metrics } = await start([keep])
  await start([keep])
  const all = Array.from({ length: 60 }, (_, i) => `w${i}`)
  await db.tx(async (tx) => {
    for (const word of all) await enqueue(tx, keep, { word })
  })
  await eventually(async () => (await jobs()).length === 0, 'the jobs to be done')
  expect(words.toSorted()).toEqual(all.toSorted())
  expect(await metrics.metrics()).toMatch(/svc_jobs_total\{task="keep",outcome="done"\} \d+\n/)
})

test('what fails is tried again after a pause, and fails for good at last, said once', async () => {
  const { keep, words } = keeping(async () => {
    throw new Error('no luck\0')
  })
  const { metrics } = await start([keep])
  await put(keep, 'secret')
  for (let attempt = 1; attempt <= 3; attempt++) {
    await eventually(async () => {
      const [job] = await jobs()
      return job?.attempts === attempt && job.lockedBy === null
    }, `attempt ${attempt}`)
    expect((await jobs())[0]?.dueIn).toBeGreaterThan(1)
    await hurry()
  }
  expect(words).toHaveLength(3)
  expect(await jobs()).toMatchObject([{ attempts: 3, lastError: 'no luck\u{fffd}' }])
  expect(logged.filter(({ level }) => level === 'error')).toMatchObject([
    { message: 'a job failed for good', details: { task: 'keep', attempt: 3 } },
  ])
  expect(JSON.stringify(logged)).not.toContain('secret')
  const counted = await metrics.metrics()
  expect(counted).toContain('svc_jobs_total{task="keep",outcome="failed"} 1')
  expect(counted).toContain('svc_jobs_total{task="keep",outcome="retried"} 2')
  expect(counted).toContain('svc_jobs_waiting 0')
})

test('a payload that does not fit fails for good at once, and is not in the log', async () => {
  const { keep, words } = keeping()
  await start([keep])
  await db.tx((tx) => enqueueNamed(tx, 'keep', { word: 12_345_678 }))
  await eventually(() => logged.some(({ level }) => level === 'error'), 'the failure')
  await eventually(async () => (await jobs())[0]?.lockedBy === null, 'the end of the job')
  expect(await jobs()).toMatchObject([
    { attempts: 3, lastError: expect.stringMatching(/^the payload does not fit: word: .*expected string/) },
  ])
  expect(words).toEqual([])
  expect(JSON.stringify(logged)).not.toContain('12345678')
})

test('a job that takes too long is told, and fails', async () => {
  let told = false
  const slow = task({
    name: 'slow',
    payload: z.object({}),
    maxAttempts: 1,
    timeoutMs: 50,
    run: (_, { signal }) => {
      signal.addEventListener('abort', () => (told = true))
      return never()
    },
  })
  await start([slow])
  await db.tx((tx) => enqueue(tx, slow, {}))
  await eventually(async () => (await jobs())[0]?.lastError === 'not done within 50 ms', 'the time to be up')
  expect(told).toBe(true)
})

test('the job of a worker that is killed is taken over', async () => {
  const program = ['--import', 'tsx', join(import.meta.dirname, '../../../../test/harness/job-worker.ts')]
  const { url } = on
  const child = spawn(process.execPath, [...program, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  const hang = (words: string[]) =>
    task({
      name: 'hang',
      payload: z.object({}),
      maxAttempts: 3,
      timeoutMs: 5_000,
      run: async () => words.push('x'),
    })
  const words: string[] = []
  await declareTasks(db, [hang(words)])
  await db.tx((tx) => enqueue(tx, hang(words), {}))
  await once(child.stdout, 'data')
  await start([hang(words)])
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  expect(words).toEqual([]) // its worker lives, however long the job takes
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
  await eventually(() => words.length === 1, 'taking over')
  await eventually(async () => (await jobs()).length === 0, 'the job to be done')
  expect(await sql`select from job_pools`).toHaveLength(1)
})

test('a job whose worker died on its last attempt has failed for good, and is said to have', async () => {
  const { keep, words } = keeping()
  await declareTasks(db, [keep])
  await put(keep, 'last', { maxAttempts: 1 })
  await sql`update graphile_worker._private_jobs set attempts = 1, locked_by = 'dead', locked_at = now()`
  await sql`insert into job_pools values ('dead', now() - interval '1 minute')`
  await start([keep])
  await eventually(() => logged.some(({ level }) => level === 'error'), 'the failure')
  expect(logged.filter(({ level }) => level === 'error')).toMatchObject([{ details: { task: 'keep' } }])
  expect(await jobs()).toMatchObject([{ lockedBy: null, lastError: 'its worker died' }])
  expect(words).toEqual([])
})

test('a worker that others took for dead breaks off what it runs', async () => {
  let told: unknown
  const { keep } = keeping((_, { signal }) => {
    signal.addEventListener('abort', () => (told = signal.reason))
    return never()
  })
  await start([keep])
  await put(keep, 'x')
  await eventually(async () => (await jobs())[0]?.lockedBy != null, 'the job to run')
  await sql`delete from job_pools`
  await eventually(() => told !== undefined, 'being told')
  expect(String(told)).toContain('others took this worker for dead')
})

test('closing lets jobs end, and gives back those that do not, as if they had not been begun', async () => {
  let end = (): void => undefined
  const { keep, words } = keeping((word) =>
    word === 'short' ? new Promise<void>((resolve) => (end = resolve)) : never(),
  )
  const { queue } = await start([keep], { drainMs: 300 })
  await put(keep, 'short')
  await put(keep, 'long')
  await eventually(() => words.length === 2, 'both to run')
  const closed = queue.close()
  await put(keep, 'late')
  end()
  await closed
  expect(await jobs()).toMatchObject([
    { payload: { word: 'long' }, attempts: 0, lockedBy: null },
    { payload: { word: 'late' }, attempts: 0 },
  ])
  expect((await jobs())[0]?.dueIn).toBeLessThanOrEqual(0)
  expect(await sql`select from job_pools`).toHaveLength(0)
  expect(logged.filter(({ level }) => level === 'error')).toEqual([])
})

test('jobs of one queue run one right after another', async () => {
  let running = 0
  let most = 0
  const { keep, words } = keeping(async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 10))
    running--
  })
  const pipeline = { ...on.deps.ports.config.pipeline, jobPollMs: 60_000 }
  await start([keep], { pipeline })
  for (const word of ['a', 'b', 'c', 'd']) await put(keep, word, { queue: 'q' })
  await eventually(() => words.length === 4, 'all four')
  expect(most).toBe(1)
})

test('jobs that failed for good are removed after a week, and no others', async () => {
  const { keep } = keeping()
  await declareTasks(db, [keep])
  for (const word of ['old', 'young', 'waits']) await put(keep, word)
  await sql`
    update graphile_worker._private_jobs set attempts = case payload ->> 'word' when 'waits' then 0 else 3 end,
      run_at = now() - case payload ->> 'word' when 'young' then interval '6 days' else interval '8 days' end`
  expect(await pruneFailed(db)).toBe(1)
  expect((await jobs()).map(({ payload }) => payload)).toEqual([{ word: 'young' }, { word: 'waits' }])
})

test('a queue whose schema is for newer versions alone is left to them', async () => {
  await sql`insert into graphile_worker.migrations (id, breaking) values (9999, true)`
  const { log, ports } = on.deps
  const { pipeline } = ports.config
  const queue = startQueue({ db, ports: {}, tasks: [], log, metrics: new Registry(), pipeline, drainMs: 0 })
  queues.push(queue)
  await eventually(() => logged.some(({ level }) => level === 'error'), 'the complaint')
  const why = expect.objectContaining({ message: expect.stringContaining('9999 is for newer versions') })
  expect(logged[0]).toMatchObject({ details: { err: why } })
  expect(await sql`select from job_pools`).toHaveLength(0)
  await sql`delete from graphile_worker.migrations where id = 9999`
})
