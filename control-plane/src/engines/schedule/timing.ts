import { Cron } from 'croner'
import { z } from 'zod'
import { proveRule } from './rule.ts'
import { isZone } from './wall-time.ts'

/** At the soonest each minute: what is to happen more often is a stream, not a schedule. */
const leastEveryMs = 60_000
const mostEveryMs = 366 * 86_400_000

const Zone = z.string().max(64).refine(isZone, 'must be an IANA time zone')
const Instant = z.iso.datetime({ offset: true })

/** Five fields, or one of the usual words such as `@daily`. */
function isCron(expression: string): boolean {
  if (!/^@\w+$/.test(expression) && expression.trim().split(/\s+/).length !== 5) return false
  try {
    return new Cron(expression, { mode: '5-part', timezone: 'UTC' }).nextRun() !== null
  } catch {
    return false
  }
}

function isRule(rule: string, start: string, zone: string): boolean {
  try {
    proveRule(rule, Date.parse(start), zone)
    return true
  } catch {
    return false
  }
}

/**
 * When something is to happen: once; each so many milliseconds from a start; by a cron expression of five fields; or by a
 * recurrence rule (RFC 5545 §3.3.10) from a start. Cron and rules go by what clocks in their zone show.
 */
export const Timing = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('once'), at: Instant }),
    z.strictObject({
      kind: z.literal('every'),
      ms: z.int().min(leastEveryMs).max(mostEveryMs),
      start: Instant,
    }),
    z.strictObject({ kind: z.literal('cron'), expression: z.string().max(200), zone: Zone }),
    z.strictObject({ kind: z.literal('rule'), rule: z.string().max(500), start: Instant, zone: Zone }),
  ])
  .superRefine((timing, context) => {
    const issue = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (timing.kind === 'cron' && !isCron(timing.expression))
      issue('expression', 'must be a cron expression of five fields that comes true some day')
    if (timing.kind === 'rule' && isZone(timing.zone) && !isRule(timing.rule, timing.start, timing.zone))
      issue('rule', 'must be a recurrence rule (RFC 5545), MINUTELY at the most often, that comes true')
  })
export type Timing = z.output<typeof Timing>
