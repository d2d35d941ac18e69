import { RRuleTemporal } from 'rrule-temporal'
import { Temporal } from 'temporal-polyfill'
import { instantsOf, wallTimeAt } from './wall-time.ts'

const list = (item: string) => new RegExp(`^${item}(,${item})*$`)
const [hour, minute, month] = ['(\\d|1\\d|2[0-3])', '[0-5]?\\d', '(0?[1-9]|1[0-2])']
const monthDay = '[+-]?(0?[1-9]|[12]\\d|3[01])'
const ofYear = '[+-]?([1-9]\\d?|[12]\\d\\d|3[0-5]\\d|36[0-6])'
const week = '[+-]?(0?[1-9]|[1-4]\\d|5[0-3])'

/**
 * Parts of a rule that are taken, and their values (RFC 5545 §3.3.10). The library passes over in silence what it does not know and
 * what is out of range, and would do something else; of weekdays in a year it takes the 53rd for the first.
 */
const parts: Record<string, RegExp> = {
  FREQ: /^(YEARLY|MONTHLY|WEEKLY|DAILY|HOURLY|MINUTELY)$/,
  INTERVAL: /^([1-9]\d{0,2}|1000)$/,
  COUNT: /^([1-9]\d?|[1-4]\d\d|500)$/,
  UNTIL: /^\d{8}(T\d{6}Z?)?$/,
  BYMINUTE: list(minute),
  BYHOUR: list(hour),
  BYDAY: list('([+-]?([1-9]|[1-4]\\d|5[0-2]))?(MO|TU|WE|TH|FR|SA|SU)'),
  BYMONTHDAY: list(monthDay),
  BYYEARDAY: list(ofYear),
  BYWEEKNO: list(week),
  BYMONTH: list(month),
  BYSETPOS: list(ofYear),
  WKST: /^(MO|TU|WE|TH|FR|SA|SU)$/,
}

/** What the search for the next time may take: some 100 ms. A rule that finds none in so many of its periods has none. */
const budget = { maxIterations: 1_000, maxCandidateEvaluations: 20_000 }

/** A recurrence of wall times. `next` answers the first one after that wall time, or undefined. */
export interface WallTimes {
  next(afterWallMs: number): number | undefined
  /** goes on through an hour that clocks show twice, as minutes and hours do; days do not */
  subDaily: boolean
  /** nothing happens after that instant */
  untilMs: number
}

/** The parts of a rule by name. @throws when one is not taken, is there twice, or FREQ is not there */
function read(text: string): Map<string, string> {
  const found = new Map<string, string>()
  const given = text.replace(/^RRULE:/i, '').toUpperCase()
  for (const part of given.split(';')) {
    const [name = '', value = '', ...more] = part.split('=')
    if (more.length > 0 || !parts[name]?.test(value) || found.has(name)) throw new Error(`not taken: ${part}`)
    found.set(name, value)
  }
  if (!found.has('FREQ')) throw new Error('no FREQ')
  return found
}

interface Rule {
  library: RRuleTemporal
  given: ReadonlyMap<string, string>
  startWallMs: number
  untilMs: number
}

/** The library runs a rule in a zone without summers, so that no time is left out or moved. `UNTIL` is an instant, so it is taken out. */
function makeRule(text: string, startMs: number, zone: string): Rule {
  const given = read(text)
  const startWallMs = Math.floor(wallTimeAt(startMs, zone) / 1_000) * 1_000
  const kept = [...given].flatMap(([name, value]) => (name === 'UNTIL' ? [] : `${name}=${value}`))
  const dtstart = atUtc(startWallMs)
  const library = new RRuleTemporal({ rruleString: kept.join(';'), dtstart, strict: true, ...budget })
  return { library, given, startWallMs, untilMs: untilOf(given.get('UNTIL'), zone) }
}

/**
 * A recurrence rule as wall times, of whole seconds; what the zone makes of each is {@link instantsOf}'s.
 * @throws when it is no rule, or one that is not taken
 */
export function wallRule(text: string, startMs: number, zone: string): WallTimes {
  const { library, given, startWallMs, untilMs } = makeRule(text, startMs, zone)
  const next = (afterWallMs: number) => {
    try {
      return library.next(atUtc(Math.max(afterWallMs, startWallMs - 1)))?.epochMilliseconds
    } catch {
      return undefined // the budget is used up, or the calendar: a rule that was made throws nothing else
    }
  }
  return { next, subDaily: isSubDaily(given), untilMs }
}

/**
 * Whether something happens by that rule, and with COUNT as often as it says, within the budget.
 * @throws when it does not, when it is no rule, or one that is not taken
 */
export function proveRule(text: string, startMs: number, zone: string): void {
  const { library, given, startWallMs, untilMs } = makeRule(text, startMs, zone)
  const first = library.next(atUtc(startWallMs - 1))?.epochMilliseconds
  if (first === undefined || instantsOf(first, zone)[0] > untilMs) throw new Error('nothing happens')
  if (given.has('COUNT')) library.all()
}

/** Hours that are named are times of a day, whatever the frequency. */
const isSubDaily = (given: ReadonlyMap<string, string>) =>
  /^(HOURLY|MINUTELY)$/.test(given.get('FREQ') ?? '') && !given.has('BYHOUR')

const atUtc = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO('UTC')

/** `20261231T235959Z` an instant; without `Z` a wall time; a date alone its last moment. */
function untilOf(text: string | undefined, zone: string): number {
  if (text === undefined) return Number.POSITIVE_INFINITY
  const [date, time = '235959'] = [text.slice(0, 8), text.slice(9, 15) || undefined]
  const iso = `${date}T${time}`.replace(/^(....)(..)(..)T(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z')
  const wallMs = Date.parse(iso)
  if (Number.isNaN(wallMs)) throw new Error(`not taken: UNTIL=${text}`)
  return text.endsWith('Z') ? wallMs : (instantsOf(wallMs, zone).at(-1) ?? wallMs)
}
