import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Timestamp } from './timestamps.ts'

const said = (text: string) => new Date(text).toISOString()

test('a timestamp is and says what a Date of it is and says, whatever its fraction', () => {
  const instant = fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  })
  fc.assert(
    fc.property(instant, fc.stringMatching(/^(\.\d{1,6})?$/), (at, fraction) => {
      const text = `${at.toISOString().slice(0, 19).replace('T', ' ')}${fraction}+00`
      const read = new Timestamp(text)
      const standard = new Date(`${text.replace(' ', 'T').slice(0, -3)}Z`)
      expect([read.toISOString(), read.getTime()]).toEqual([standard.toISOString(), standard.getTime()])
    }),
    { numRuns: 1_000 },
  )
})

test.each(['2026-11-28 11:00:00.5+02', '2026-11-28 11:00:00+05:30', '2026-11-28T11:00:00.123Z'])(
  'one of another form is reckoned: %s',
  (text) => {
    expect(new Timestamp(text).toISOString()).toBe(said(text))
  },
)

test('one that is no time of the calendar is refused as a Date refuses it', () => {
  expect(() => new Timestamp('infinity').toISOString()).toThrow(RangeError)
})
