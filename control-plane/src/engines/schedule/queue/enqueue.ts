import { textArray, plainArray } from '../../../db/array-literal.ts'
import type { WorkerDb } from '../../../kernel/db.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import type { QueueTask, Task } from './task.ts'

export interface EnqueueOptions {
  /** What waits under the same key is replaced; what runs already is not. At most 512 characters. */
  key?: string
  /** not before; default now */
  runAt?: Date
  /** Jobs of one queue run one after another. Few names, no ids: each stays for good. */
  queue?: string
  /** default: the task's */
  maxAttempts?: number
}

/**
 * Puts a job into the queue, in the caller's transaction: it is there when that commits, and never was when it does not.
 *
 * @throws ZodError when the payload is not the task's
 */
export async function enqueue<Payload>(
  db: Db,
  task: Pick<Task<Payload>, 'name' | 'payload'>,
  payload: Payload,
  options: EnqueueOptions = {},
): Promise<void> {
  task.payload.parse(payload)
  await enqueueNamed(db, task.name, payload as Record<string, unknown>, options)
}

/**
 * As {@link enqueue}, for a task that was chosen by name. Its payload is looked at when it runs.
 *
 * @throws PostgresError 22023 when no task has this name or the payload is over 64 KiB
 */
export async function enqueueNamed(
  db: Db,
  task: string,
  payload: Record<string, unknown>,
  { key, runAt, queue, maxAttempts }: EnqueueOptions = {},
): Promise<void> {
  await db.run`
    select enqueue(${task}::text, ${JSON.stringify(payload)}::text::jsonb, ${key ?? null}::text,
      ${runAt ?? null}::timestamptz, ${queue ?? null}::text, ${maxAttempts ?? null}::integer)`
}

/** Lets these tasks be enqueued. Those of other versions, which may run beside this one, stay. */
export async function declareTasks(
  db: WorkerDb,
  tasks: readonly Pick<QueueTask, 'name' | 'maxAttempts'>[],
): Promise<void> {
  const names = textArray(tasks.map(({ name }) => name))
  const attempts = plainArray(tasks.map(({ maxAttempts }) => maxAttempts))
  await db.tx(
    (tx) => tx.run`
      insert into job_tasks as t (name, max_attempts)
      select b.name, b.attempts from unnest(${names}::text[], ${attempts}::smallint[]) as b (name, attempts) order by b.name
      on conflict (name) do update set max_attempts = excluded.max_attempts where t.max_attempts <> excluded.max_attempts`,
  )
}
