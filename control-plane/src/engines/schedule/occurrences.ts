import { Cron } from 'croner'
import { type WallTimes, wallRule } from './rule.ts'
import type { Timing } from './timing.ts'
import { instantsOf, latestShown, nextSetBack, wallTimeAt } from './wall-time.ts'

/** Answers the first occurrence after an instant, or undefined when there is none. */
type Occurrences = (afterMs: number) => number | undefined

/**
 * When a timing happens. A local time that a zone's clocks skip happens at the next one that they show; one that they show twice
 * happens once, the first time. A schedule that goes by minutes or hours goes on through both (docs/decisions/0021).
 */
export function occurrencesOf(timing: Timing): Occurrences {
  switch (timing.kind) {
    case 'once':
      return once(Date.parse(timing.at))
    case 'every':
      return every(Date.parse(timing.start), timing.ms)
    case 'cron':
      return byClock(cronTimes(timing.expression), timing.zone)
    case 'rule':
      return byClock(wallRule(timing.rule, Date.parse(timing.start), timing.zone), timing.zone)
  }
}

/** The first moment after `afterMs` that is not after the end; null when there is none. */
export function nextDue(timing: Timing, afterMs: number, endsAtMs = Number.POSITIVE_INFINITY): Date | null {
  const at = occurrencesOf(timing)(afterMs)
  return at === undefined || at > endsAtMs ? null : new Date(at)
}

/** At most `count` occurrences after that instant, in order. */
export function nextOccurrences(timing: Timing, afterMs: number, count: number): number[] {
  const next = occurrencesOf(timing)
  const found: number[] = []
  for (let at = next(afterMs); at !== undefined && found.length < count; at = next(at)) found.push(at)
  return found
}

const once =
  (at: number): Occurrences =>
  (afterMs) =>
    at > afterMs ? at : undefined

const every =
  (start: number, ms: number): Occurrences =>
  (afterMs) =>
    start + Math.max(0, Math.floor((afterMs - start) / ms) + 1) * ms

function cronTimes(expression: string): WallTimes {
  const cron = new Cron(expression, { mode: '5-part', timezone: 'UTC' })
  const [, hours = '*'] = expression.trim().split(/\s+/)
  return {
    next: (afterWallMs) => cron.nextRun(new Date(afterWallMs))?.getTime(),
    subDaily: expression.trim() === '@hourly' || /^\*(\/|$)/.test(hours),
    untilMs: Number.POSITIVE_INFINITY,
  }
}

function byClock(times: WallTimes, zone: string): Occurrences {
  const next = times.subDaily ? eachTime : firstTime
  return (afterMs) => {
    const at = next(times, zone, afterMs)
    return at !== undefined && at <= times.untilMs ? at : undefined
  }
}

/** Each wall time once. The later it is, the later is the first instant that shows it, or what comes after it where it is skipped. */
function firstTime(times: WallTimes, zone: string, afterMs: number): number | undefined {
  const wall = times.next(latestShown(afterMs, zone))
  return wall === undefined ? undefined : instantsOf(wall, zone)[0]
}

/** Each wall time as often as clocks show it: also those that are past, where clocks are about to be set back to before them. */
function eachTime(times: WallTimes, zone: string, afterMs: number): number | undefined {
  const ahead = nextShown(times, zone, afterMs, wallTimeAt(afterMs, zone))
  const setBack = nextSetBack(afterMs, zone)
  if (setBack === undefined || (ahead !== undefined && ahead < setBack)) return ahead
  return nextShown(times, zone, setBack - 1, wallTimeAt(setBack, zone) - 1)
}

/** The first instant after `afterMs` that shows one of the wall times after `afterWallMs`. */
function nextShown(times: WallTimes, zone: string, afterMs: number, afterWallMs: number): number | undefined {
  for (let wall = times.next(afterWallMs); wall !== undefined; ) {
    const instants = instantsOf(wall, zone)
    const shown = wallTimeAt(instants[0], zone)
    if (shown === wall) return instants.find((at) => at > afterMs)
    wall = times.next(shown - 1) // all that is skipped
  }
  return undefined
}
