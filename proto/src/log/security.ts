import { logCounts } from './counts.ts'
import type { SecurityEvent } from './events.ts'

/** What a security event says beside its name: ids, and why. No secret, nor a text that an outsider made. */
export type SecurityDetails = Record<string, unknown>

/** Tells of a security event. */
export type SecurityLog = (event: SecurityEvent, message: string, details?: SecurityDetails) => void

/** What it needs of a logger: pino's, and Fastify's. */
export interface CanBranch {
  child(bindings: object, options: { level: 'info' }): { warn(details: object, message: string): void }
}

/**
 * Security events on their way into this log, whatever its level. Those that are `gathered` go through the limit on what repeats,
 * with their number at the end of its window; none of the others is ever left out.
 */
export function securityOf(logger: CanBranch): SecurityLog {
  const log = logger.child({}, { level: 'info' })
  return (event, message, details = {}) => {
    logCounts.security[event] = (logCounts.security[event] ?? 0) + 1
    log.warn({ ...details, event, security: true }, message)
  }
}

/** The event of a line that is one; undefined for others. */
export const securityEventOf = (details: unknown): SecurityEvent | undefined =>
  typeof details === 'object' && details !== null && 'security' in details
    ? (details as { event?: SecurityEvent }).event
    : undefined

/** For what is made without a log. */
export const silently: SecurityLog = () => undefined
