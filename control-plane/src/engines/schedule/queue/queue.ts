import { setTimeout as after } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { declareTasks } from './enqueue.ts'
import { jobMetrics } from './metrics.ts'
import { type JobPool, type JobPoolDeps, openJobPool } from './pool.ts'

export interface QueueDeps<Ports> extends Omit<JobPoolDeps<Ports>, 'metrics'> {
  metrics: Registry
  /** How long to leave the process to others first, in milliseconds: what the queue needs is loaded then. Default 0. */
  delayMs?: number
}

export interface Queue {
  /** resolves when jobs are run for the first time */
  started: Promise<void>
  /** Takes no more jobs, lets those that run have their time, gives back the others. Idempotent. */
  close(): Promise<void>
}

/** Pause before the queue is opened anew, after it could not be or stopped. */
const againMs = 5_000

/** Runs jobs of these tasks from now on. Whatever goes wrong is logged and tried again. */
export function startQueue<Ports>(deps: QueueDeps<Ports>): Queue {
  const { log, delayMs = 0 } = deps
  const full = { ...deps, metrics: jobMetrics(deps.metrics, deps.db, log) }
  const closing = new AbortController()
  const { signal } = closing
  let begun = (): void => undefined
  const started = new Promise<void>((resolve) => {
    begun = resolve
  })
  const pause = (ms: number) => after(ms, undefined, { signal }).catch(() => undefined)

  async function live(): Promise<void> {
    let pool: JobPool | undefined
    try {
      await declareTasks(deps.db, deps.tasks)
      pool = await openJobPool(full)
      begun()
      await Promise.race([pool.ended, aborted(signal)])
    } catch (error) {
      log.error({ err: error }, 'the job queue could not be opened; trying again')
    }
    await pool?.close()
  }

  const lives = (async () => {
    await pause(delayMs)
    while (!signal.aborted) {
      await live()
      await pause(againMs)
    }
  })()
  return {
    started,
    close: () => {
      closing.abort()
      return lives
    },
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
