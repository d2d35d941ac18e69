import { expect, test } from 'vitest'
import { z } from 'zod'
import { issueText } from './issue-text.ts'
import { csv, flag, wholeNumber } from './query-text.ts'

const read = (schema: z.ZodType, value: string) => {
  const parsed = schema.safeParse(value, { error: issueText })
  return parsed.success ? parsed.data : parsed.error.issues.map(({ path, message }) => [path, message])
}

const id = '0195d0a0-0000-7000-8000-000000000000'

test('comma-separated values name the one that is wrong, and the parameter alone', () => {
  const query = z.object({ orgIds: csv(z.uuid()) })
  const parsed = query.safeParse({ orgIds: `${id},nonsense,` }, { error: issueText })
  expect(parsed.error?.issues.map(({ path, message }) => [path, message])).toEqual([
    [['orgIds'], '"nonsense" must be a UUID'],
    [['orgIds'], '"" must be a UUID'],
  ])
  expect(read(csv(z.uuid()), `${id},${id}`)).toEqual([id, id])
  expect(read(csv(z.enum(['a', 'b'])), 'a,c')).toEqual([[[], '"c" must be one of a, b']])
})

test('more values than are taken are refused at once, and a long one is not repeated in full', () => {
  expect(read(csv(z.uuid(), 2), 'x,x,x')).toEqual([[[], 'must have at most 2 items']])
  expect(read(csv(z.uuid()), 'x'.repeat(1_000))).toEqual([[[], `"${'x'.repeat(40)}…" must be a UUID`]])
})

test.each([
  ['', true],
  ['true', true],
  ['1', true],
  ['TRUE', true],
  ['false', false],
  ['0', false],
])('a switch that is %j is %j', (text, wanted) => {
  expect(read(flag, text)).toBe(wanted)
})

test('a switch that is something else is refused in words', () => {
  expect(read(flag, 'maybe')).toEqual([[[], 'must be true or false']])
})

test.each(['', '1.5', '-1', 'x', '0x10', '1e3', ' 5', '1234567890'])('%j is no whole number', (text) => {
  expect(read(wholeNumber(0, 9), text)).toEqual([[[], 'must be a whole number']])
})

test.each([
  ['0', 'must be at least 1'],
  ['501', 'must be at most 500'],
])('a number of %s is out of bounds', (text, wanted) => {
  expect(read(wholeNumber(1, 500), text)).toEqual([[[], wanted]])
})

test('the document says what a reader means, not how it is read', () => {
  const query = z.object({ limit: wholeNumber(1, 500).default(100), all: flag.default(false) })
  expect(z.toJSONSchema(query, { io: 'input' })['properties']).toEqual({
    limit: { type: 'integer', minimum: 1, maximum: 500 },
    all: { type: 'boolean' },
  })
})
