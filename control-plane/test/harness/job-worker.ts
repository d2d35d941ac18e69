import { Registry } from 'prom-client'
import { z } from 'zod'
import { openPool } from '../../src/adapters/postgres.ts'
import { startQueue } from '../../src/engines/schedule/queue/queue.ts'
import { task } from '../../src/engines/schedule/queue/task.ts'
import { workerDb } from '../../src/kernel/db.ts'

/** A process that takes a job named `hang` and never ends it: to be killed. Argument: the database's URL. */
const [, , url = ''] = process.argv
const db = workerDb(openPool({ url, role: 'svc_worker', max: 3, name: 'doomed' }), { kind: 'system' })
const log = { info: () => undefined, warn: console.error, error: console.error }
const hang = task({
  name: 'hang',
  payload: z.object({}),
  maxAttempts: 3,
  timeoutMs: 60_000,
  run: async () => {
    console.log('running')
    await new Promise((resolve) => setTimeout(resolve, 60_000))
  },
})
startQueue({
  db,
  ports: {},
  tasks: [hang],
  log,
  metrics: new Registry(),
  pipeline: { jobPollMs: 100, jobBeatMs: 100, jobPoolDeadMs: 60_000 },
  drainMs: 0,
})
