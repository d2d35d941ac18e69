import type { z } from 'zod'
import type { WorkerDb } from '../../../kernel/db.ts'

export interface TaskLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** What a task works with. */
export interface TaskContext<Ports = unknown> {
  /** scope `system`: a tenant's work states the tenant's scope itself */
  db: WorkerDb
  ports: Ports
  /** aborted when the time is up or the process ends: the job has ended by then, whatever the task still does */
  signal: AbortSignal
  log: TaskLog
}

/** A task as the queue sees it: `start` takes a payload as it was stored. @throws PayloadError */
export interface QueueTask<Ports = unknown> {
  readonly name: string
  readonly maxAttempts: number
  readonly timeoutMs: number
  start(stored: unknown, context: TaskContext<Ports>): Promise<unknown>
}

/** A task that can be enqueued with payloads of its kind. */
export interface Task<Payload, Ports = unknown> extends QueueTask<Ports> {
  readonly payload: z.ZodType<unknown, Payload>
}

/** Trying again would not help: the job has failed for good. */
export class FinalError extends Error {
  override name = 'FinalError'
}

/** The message says what is wrong where, without the value. */
export class PayloadError extends FinalError {
  override name = 'PayloadError'
}

export interface TaskDeclaration<Schema extends z.ZodType, Ports> {
  /** lower case, dots between words */
  name: string
  /** an object; anything else about it may be left out by an older version that enqueued it */
  payload: Schema
  /** runs before it has failed for good; the pause grows from seconds to six hours */
  maxAttempts: number
  timeoutMs: number
  /** Must bear being run twice, even at once: a worker that seemed dead may come back. */
  run: (payload: z.output<Schema>, context: TaskContext<Ports>) => Promise<unknown>
}

/** Declares a task. It runs when it stands in the list of `src/jobs.ts`. */
export function task<Schema extends z.ZodType, Ports = unknown>({
  name,
  payload,
  maxAttempts,
  timeoutMs,
  run,
}: TaskDeclaration<Schema, Ports>): Task<z.input<Schema>, Ports> {
  const start = async (stored: unknown, context: TaskContext<Ports>) => {
    const parsed = payload.safeParse(stored)
    if (!parsed.success) throw new PayloadError(complaint(parsed.error))
    return run(parsed.data, context)
  }
  return { name, payload: payload as Task<z.input<Schema>>['payload'], maxAttempts, timeoutMs, start }
}

const complaint = ({ issues }: z.ZodError) =>
  `the payload does not fit: ${issues.map(({ path, message }) => `${path.join('.') || 'it'}: ${message}`).join('; ')}`
