import { format } from 'node:util'
import type { OpenLog } from './open.ts'

/** At its end a process waits so long for whoever reads its log. */
const lastWordsMs = 200

const methods = {
  log: 'info',
  info: 'info',
  warn: 'warn',
  error: 'error',
  debug: 'debug',
  trace: 'debug',
} as const

/**
 * Has everything that this process says be lines of its log: what dependencies print, what Node warns of, and an error that nobody
 * caught, which ends it with exit code 1.
 */
export function ownOutput({ log, flush }: OpenLog): void {
  for (const [name, level] of Object.entries(methods) as [keyof typeof methods, 'info' | 'warn'][])
    console[name] = (...said: unknown[]) =>
      log[level]({ event: 'console', said: format(...said) }, 'a dependency prints')
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ event: 'process.warning', err: warning }, 'Node warns'))
  const ends = (error: unknown) => {
    log.fatal({ event: 'process.failed', err: asError(error) }, 'a fault that nobody handled')
    process.exit(1)
  }
  process.on('uncaughtException', ends).on('unhandledRejection', ends)
  process.on('exit', () => flush(lastWordsMs))
}

const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(format(thrown)))

/**
 * Says why it gives up, and ends. What its operator can mend is the line's text, as it was written; of the rest the line shows where.
 *
 * @param plain whether the message alone is meant for them
 */
export function giveUp({ log }: Pick<OpenLog, 'log'>, error: unknown, plain: boolean, code: number): never {
  const event = 'process.failed' as const
  if (plain) log.fatal({ event, exitCode: code }, (error as Error).message)
  else log.fatal({ event, exitCode: code, err: asError(error) }, 'a fault that it was not made for')
  process.exit(code)
}
