import type { LogFunctionFactory } from 'graphile-worker'
import type { TaskLog } from './task.ts'

/**
 * The library's log as ours. Its details hold whole jobs, payloads included: of those only an error goes on. What becomes of jobs is
 * logged where they run.
 */
export const quietly =
  (log: TaskLog): LogFunctionFactory =>
  () =>
  (level, message, meta) => {
    if (meta?.['failure'] === true || (level !== 'error' && level !== 'warning')) return
    log.warn({ ...(meta?.['error'] instanceof Error && { err: meta['error'] }) }, `job queue: ${message}`)
  }
