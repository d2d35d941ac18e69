import { expect, test } from 'vitest'
import { nextOccurrences } from './occurrences.ts'
import { Timing } from './timing.ts'

const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 16)}Z`
const first = (timing: Timing, after: string, count: number) =>
  nextOccurrences(Timing.parse(timing), Date.parse(after), count).map(iso)
const cron = (expression: string, zone: string): Timing => ({ kind: 'cron', expression, zone })

test.each([
  [
    'a time that clocks skip happens at the next one that they show',
    cron('30 2 * * *', 'Europe/Berlin'),
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00Z', '2026-03-30T00:30Z'],
  ],
  [
    'a time that clocks show twice happens the first time',
    cron('30 2 * * *', 'Europe/Berlin'),
    '2026-10-24T12:00Z',
    ['2026-10-25T00:30Z', '2026-10-26T01:30Z'],
  ],
  [
    'and is over when they show it again',
    cron('30 2 * * *', 'Europe/Berlin'),
    '2026-10-25T01:10Z',
    ['2026-10-26T01:30Z'],
  ],
  [
    'half hours go on through an hour that is shown twice',
    cron('*/30 * * * *', 'Europe/Berlin'),
    '2026-10-25T00:00Z',
    ['2026-10-25T00:30Z', '2026-10-25T01:00Z', '2026-10-25T01:30Z', '2026-10-25T02:00Z'],
  ],
  [
    'hours that are skipped are not made up for',
    cron('10 * * * *', 'Europe/Berlin'),
    '2026-03-29T00:00Z',
    ['2026-03-29T00:10Z', '2026-03-29T01:10Z'],
  ],
  [
    'clocks that are set by half an hour',
    cron('*/15 * * * *', 'Australia/Lord_Howe'),
    '2026-04-04T14:40Z',
    ['2026-04-04T14:45Z', '2026-04-04T15:00Z', '2026-04-04T15:15Z'],
  ],
  [
    'a day that was left out',
    cron('0 12 * * *', 'Pacific/Apia'),
    '2011-12-29T12:00Z',
    ['2011-12-29T22:00Z', '2011-12-30T10:00Z', '2011-12-30T22:00Z'],
  ],
  [
    'a rule in summer and winter',
    {
      kind: 'rule',
      rule: 'FREQ=WEEKLY;BYDAY=SU;BYHOUR=2;BYMINUTE=0',
      start: '2026-10-01T00:00:00Z',
      zone: 'America/New_York',
    },
    '2026-10-20T00:00Z',
    ['2026-10-25T06:00Z', '2026-11-01T07:00Z'],
  ],
  [
    'an hour that is named is a time of the day, whatever the frequency',
    {
      kind: 'rule',
      rule: 'FREQ=HOURLY;BYHOUR=2;BYMINUTE=30',
      start: '2026-01-01T00:00:00Z',
      zone: 'Europe/Berlin',
    },
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00Z', '2026-03-30T00:30Z'],
  ],
  [
    'a rule counts from its start and ends',
    { kind: 'rule', rule: 'FREQ=DAILY;COUNT=3', start: '2026-10-24T00:30:00Z', zone: 'Europe/Berlin' },
    '2020-01-01T00:00Z',
    ['2026-10-24T00:30Z', '2026-10-25T00:30Z', '2026-10-26T01:30Z'],
  ],
  [
    'an UNTIL is an instant',
    {
      kind: 'rule',
      rule: 'FREQ=DAILY;UNTIL=20260702T080000Z',
      start: '2026-07-01T08:00:00Z',
      zone: 'America/New_York',
    },
    '2020-01-01T00:00Z',
    ['2026-07-01T08:00Z', '2026-07-02T08:00Z'],
  ],
  [
    'each so many minutes from a start',
    { kind: 'every', ms: 90_000, start: '2026-01-01T00:00:00Z' },
    '2026-01-01T00:01:30Z',
    ['2026-01-01T00:03Z', '2026-01-01T00:04Z'],
  ],
  ['once', { kind: 'once', at: '2026-01-01T00:00:00Z' }, '2025-01-01T00:00Z', ['2026-01-01T00:00Z']],
] as [string, Timing, string, string[]][])('%s', (_, timing, after, expected) => {
  expect(
    first(
      timing,
      after,
      Math.max(expected.length, timing.kind === 'rule' && /COUNT|UNTIL/.test(timing.rule) ? 9 : 0),
    ),
  ).toEqual(expected)
})

test.each([
  cron('* * * * * *', 'UTC'),
  cron('0 0 30 2 *', 'UTC'),
  cron('0 0 * * *', 'Mars/Olympus'),
  cron('0 0 * * *', '+02:00'),
  { kind: 'rule', rule: 'FREQ=SECONDLY', start: '2026-01-01T00:00:00Z', zone: 'UTC' },
  ...[
    'FREQ=DAILY;BYHOUR=25',
    'FREQ=DAILY;FREQ=YEARLY',
    'FREQ=DAILY;INTERVAL=100000',
    'FREQ=DAILY;UNTIL=20250101',
    'FREQ=DAILY;BYDAY=1MO',
    'FREQ=YEARLY;BYDAY=53MO',
    'FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=HOURLY;INTERVAL=7;COUNT=500;BYMONTHDAY=31;BYHOUR=3',
  ].map((rule) => ({ kind: 'rule', rule, start: '2026-01-01T00:00:00Z', zone: 'Europe/Berlin' })),
  { kind: 'rule', rule: 'FREQ=DAILY;BYEASTER=0', start: '2026-01-01T00:00:00Z', zone: 'UTC' },
  {
    kind: 'rule',
    rule: 'FREQ=DAILY;UNTIL=20200101T000000Z\nRDATE:20300101T000000Z',
    start: '2026-01-01T00:00:00Z',
    zone: 'UTC',
  },
  { kind: 'every', ms: 59_999, start: '2026-01-01T00:00:00Z' },
] as Timing[])('%o is refused', (timing) => {
  expect(Timing.safeParse(timing).success).toBe(false)
})
