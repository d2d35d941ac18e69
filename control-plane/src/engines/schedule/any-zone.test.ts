import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { expect, test } from 'vitest'
import { comeTrue, type Manner, minute, shownBy } from '../../../test/harness/wall-clock.ts'
import { nextOccurrences } from './occurrences.ts'
import { Timing } from './timing.ts'

const day = 1_440 * minute

/** A timing and, said apart, the wall times that it means. */
interface Said {
  timing: (zone: string) => Timing
  manner: Manner
  wanted: (zone: string) => (wall: number) => boolean
}

/** A field of a cron expression, and what it means. */
function field(least: number, most: number) {
  const value = fc.integer({ min: least, max: most })
  return fc.oneof(
    fc.constant({ text: '*', has: () => true }),
    fc.integer({ min: 2, max: Math.min(20, most) }).map((n) => ({
      text: `*/${n}`,
      has: (of: number) => (of - least) % n === 0,
    })),
    fc.uniqueArray(value, { minLength: 1, maxLength: 4 }).map((values) => ({
      text: values.join(','),
      has: (of: number) => values.includes(of),
    })),
    fc.tuple(value, value).map(([a, b]) => ({
      text: `${Math.min(a, b)}-${Math.max(a, b)}`,
      has: (of: number) => of >= Math.min(a, b) && of <= Math.max(a, b),
    })),
  )
}

const cron: fc.Arbitrary<Said> = fc
  .tuple(field(0, 59), field(0, 23), field(0, 6))
  .map(([minutes, hours, weekdays]) => ({
    timing: (zone) => ({
      kind: 'cron',
      expression: `${minutes.text} ${hours.text} * * ${weekdays.text}`,
      zone,
    }),
    manner: hours.text.startsWith('*') ? 'each' : 'first',
    wanted: () => (wall) => {
      const at = new Date(wall)
      return minutes.has(at.getUTCMinutes()) && hours.has(at.getUTCHours()) && weekdays.has(at.getUTCDay())
    },
  }))

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']
const start = '1999-11-30T10:20:00Z'
/** Whole units of time between the start of a rule and a wall time. Weeks begin on Monday (RFC 5545: WKST); 1970 began on a Thursday. */
function since(zone: string, unit: number) {
  const offset = unit === 7 * day ? 3 * day : 0
  const first = Math.floor((shownBy(zone)(Date.parse(start)) + offset) / unit)
  return (wall: number) => Math.floor((wall + offset) / unit) - first
}
const times = fc.record({
  hours: fc.uniqueArray(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 3 }),
  minutes: fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 }),
})
const interval = fc.integer({ min: 1, max: 5 })
const weekday = fc.integer({ min: 0, max: 6 })

interface Days {
  text: string
  on: (zone: string) => (wall: number) => boolean
}
const days: fc.Arbitrary<Days> = fc.oneof(
  interval.map((n) => ({
    text: `DAILY;INTERVAL=${n}`,
    on: (zone: string) => {
      const passed = since(zone, day)
      return (wall: number) => passed(wall) % n === 0
    },
  })),
  fc.tuple(interval, fc.uniqueArray(weekday, { minLength: 1 })).map(([n, of]) => ({
    text: `WEEKLY;INTERVAL=${n};BYDAY=${of.map((one) => weekdays[one]).join(',')}`,
    on: (zone: string) => {
      const weeks = since(zone, 7 * day)
      return (wall: number) => of.includes(new Date(wall).getUTCDay()) && weeks(wall) % n === 0
    },
  })),
  fc.integer({ min: 1, max: 31 }).map((of) => ({
    text: `MONTHLY;BYMONTHDAY=-${of},${of}`,
    on: () => (wall: number) => {
      const at = new Date(wall)
      const last = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate()
      return [of, last + 1 - of].includes(at.getUTCDate())
    },
  })),
  fc.tuple(fc.integer({ min: 1, max: 5 }), weekday).map(([nth, of]) => ({
    text: `MONTHLY;BYDAY=${nth}${weekdays[of]}`,
    on: () => (wall: number) =>
      new Date(wall).getUTCDay() === of && Math.ceil(new Date(wall).getUTCDate() / 7) === nth,
  })),
)

/** Rules of days, at some times of theirs. */
const dailyRule: fc.Arbitrary<Said> = fc.tuple(times, days).map(([{ hours, minutes }, { text, on }]) => ({
  timing: (zone) => ({
    kind: 'rule',
    rule: `FREQ=${text};BYHOUR=${hours.join()};BYMINUTE=${minutes.join()}`,
    start,
    zone,
  }),
  manner: 'first',
  wanted: (zone) => {
    const falls = on(zone)
    return (wall) =>
      minutes.includes((wall / minute) % 60) && hours.includes(new Date(wall).getUTCHours()) && falls(wall)
  },
}))

/** Rules of hours and minutes. */
const clockRule: fc.Arbitrary<Said> = fc
  .tuple(fc.constantFrom(['MINUTELY', minute, 7] as const, ['HOURLY', 60 * minute, 1] as const), interval)
  .map(([[freq, unit, factor], n]) => ({
    timing: (zone) => ({ kind: 'rule', rule: `FREQ=${freq};INTERVAL=${n * factor}`, start, zone }),
    manner: 'each',
    wanted: (zone) => {
      const passed = since(zone, unit)
      const within = shownBy(zone)(Date.parse(start)) % unit
      return (wall) => wall % unit === within && passed(wall) % (n * factor) === 0
    },
  }))

/** A zone, and an instant in it: as a rule shortly before its clocks are set, or while they show times again. */
const moment = fc
  .tuple(
    fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC'),
    fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2035, 0, 1) }),
    fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: -60, max: 0 })),
  )
  .map(([zone, from, before]) => {
    const after = Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(zone)
    const set = after.getTimeZoneTransition('next')?.epochMilliseconds ?? from
    return { zone, after: Math.floor(Math.min(set, Date.UTC(2037, 0, 1)) / minute - before) * minute }
  })

const mostFound = 15
const span = 40 * day

/** What comes true, as the product has it and as it is walked through, up to the last that both can know. */
function compare(said: Said, zone: string, after: number) {
  const got = nextOccurrences(Timing.parse(said.timing(zone)), after, mostFound)
  const until = got.length === mostFound ? (got.at(-1) ?? after) : after + span
  return {
    got: got.filter((at) => at <= until),
    expected: comeTrue(shownBy(zone), said.manner, said.wanted(zone), after, until),
  }
}

test.each([
  ['cron expressions', cron, 25],
  ['rules of days', dailyRule, 15],
  ['rules of hours and minutes', clockRule, 10],
])(
  '%s: none is missing and none comes twice, in any zone, when its clocks are set and when not',
  (_, sayings, numRuns) => {
    fc.assert(
      fc.property(sayings, moment, (said, { zone, after }) => {
        const { got, expected } = compare(said, zone, after)
        const iso = (ms: number) => new Date(ms).toISOString()
        expect(got.map(iso), JSON.stringify([said.timing(zone), iso(after)])).toEqual(expected.map(iso))
      }),
      { numRuns },
    )
  },
)

test.each(['Australia/Lord_Howe', 'Pacific/Apia'])('thirteen months of half past two, %s', (zone) => {
  const timing: Timing = { kind: 'cron', expression: '30 2 * * *', zone }
  const after = Date.UTC(2011, 1, 1)
  const got = nextOccurrences(timing, after, 400)
  const wanted = (wall: number) => wall % day === 150 * minute
  expect(got).toEqual(comeTrue(shownBy(zone), 'first', wanted, after, got.at(-1) ?? 0))
  expect(got.at(-1)).toBeGreaterThan(after + 398 * day)
})
