import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { issueText } from './issue-text.ts'

/** The texts for a value that the schema refuses. */
function textsOf(schema: z.ZodType, value: unknown): string[] {
  const parsed = schema.safeParse(value, { error: issueText })
  return parsed.success ? [] : parsed.error.issues.map(({ message }) => message)
}
const codesOf = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value).error?.issues.map(({ code }) => code) ?? []

type Case = [what: string, schema: z.ZodType, value: unknown, text: string]

const shape = (value: z.ZodType) => z.object({ value })
const kind = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('a') }),
  z.object({ kind: z.literal('b') }),
])
const exclusive = z.xor([z.string(), z.coerce.string<string>()])

const cases: Record<z.core.$ZodIssue['code'], Case[]> = {
  invalid_type: [
    ['a text', z.string(), 1, 'must be a string'],
    ['a number', z.number(), '1', 'must be a number'],
    ['no number', z.number(), Number.NaN, 'must be a number'],
    ['a whole number', z.int(), 1.5, 'must be a whole number'],
    ['a yes or no', z.boolean(), 'yes', 'must be true or false'],
    ['a big number', z.bigint(), 1, 'must be a whole number'],
    ['an object', z.object({}), [], 'must be an object'],
    ['an object of any keys', z.record(z.string(), z.string()), 'x', 'must be an object'],
    ['an array', z.array(z.string()), {}, 'must be an array'],
    ['a pair', z.tuple([z.string()]), {}, 'must be an array'],
    ['a date', z.date(), 'today', 'must be a date'],
    ['a map', z.map(z.string(), z.string()), {}, 'must be a map'],
    ['a set', z.set(z.string()), [], 'must be a set'],
    ['null', z.null(), 1, 'must be null'],
    ['nothing', z.never(), 1, 'must be left out'],
    ['null where text is', z.string(), null, 'must be a string'],
  ],
  invalid_value: [
    ['one of some', z.enum(['a', 'b', 'c']), 'd', 'must be one of a, b, c'],
    ['one', z.literal('a'), 'd', 'must be a'],
    ['a number among some', z.literal([1, 2]), 3, 'must be one of 1, 2'],
    ['a switch', z.stringbool({ truthy: ['true'], falsy: ['false'] }), 'x', 'must be one of true, false'],
  ],
  invalid_format: [
    ['an id', z.uuid(), 'x', 'must be a UUID'],
    ['an address', z.email(), 'x', 'must be an e-mail address'],
    ['an instant', z.iso.datetime(), 'x', 'must be a date and time such as 2026-01-31T12:00:00Z'],
    ['a day', z.iso.date(), 'x', 'must be a date such as 2026-01-31'],
    ['base64', z.base64(), '?', 'must be base64'],
    ['a pattern that says nothing', z.string().regex(/a/), 'b', 'must be of the right form'],
    ['a pattern that says what it is', z.string().regex(/a/, 'must hold an a'), 'b', 'must hold an a'],
    ['a beginning', z.string().startsWith('svc_'), 'x', 'must begin with svc_'],
    ['an end', z.string().endsWith('.sh'), 'x', 'must end with .sh'],
    ['a part', z.string().includes('@'), 'x', 'must contain @'],
  ],
  too_small: [
    ['a number', z.number().min(1), 0, 'must be at least 1'],
    ['a number without its bound', z.number().gt(1), 1, 'must be more than 1'],
    ['an empty text', z.string().min(1), '', 'must not be empty'],
    ['a short text', z.string().min(8), 'x', 'must have at least 8 characters'],
    ['an empty array', z.array(z.string()).min(1), [], 'must not be empty'],
    ['a short array', z.array(z.string()).min(2), [], 'must have at least 2 items'],
    ['a set', z.set(z.string()).min(2), new Set(), 'must have at least 2 items'],
    ['a date', z.date().min(new Date(0)), new Date(-1), 'must be at least 1970-01-01T00:00:00.000Z'],
    ['a text of one length', z.string().length(1), '', 'must have exactly 1 character'],
  ],
  too_big: [
    ['a number', z.number().max(500), 501, 'must be at most 500'],
    ['a number without its bound', z.number().lt(5), 5, 'must be less than 5'],
    ['a number past all', z.int(), 2 ** 60, 'must be at most 9007199254740991'],
    ['a text', z.string().max(1), 'xx', 'must have at most 1 character'],
    ['an array', z.array(z.string()).max(2), ['', '', ''], 'must have at most 2 items'],
    ['an array of one length', z.array(z.string()).length(2), ['', '', ''], 'must have exactly 2 items'],
  ],
  not_multiple_of: [['a step', z.number().multipleOf(5), 7, 'must be a multiple of 5']],
  unrecognized_keys: [['a key', z.strictObject({}), { x: 1 }, 'is not known']],
  invalid_union: [
    ['a kind', kind, { kind: 'c' }, 'must be one of a, b'],
    ['no kind', kind, {}, 'is missing'],
    ['neither', z.union([z.string(), z.number()]), true, 'must be a string, or must be a number'],
    ['both', exclusive, 'x', 'fits more than one of the forms that are taken'],
  ],
  invalid_key: [
    [
      'a key of an object',
      z.record(z.string().max(1), z.string()),
      { xx: '' },
      'is not a key that is taken: must have at most 1 character',
    ],
  ],
  invalid_element: [
    [
      'a value of a map',
      z.map(z.object({}), z.string()),
      new Map([[{}, 1]]),
      'holds a value that must be a string',
    ],
  ],
  custom: [
    ['a rule that says nothing', z.string().refine(() => false), 'x', 'is not valid'],
    ['a rule that says itself', z.string().refine(() => false, 'must be ours'), 'x', 'must be ours'],
  ],
}

describe.each(Object.entries(cases))('%s', (code, list) => {
  test.each(list)('%s', (_what, schema, value, text) => {
    expect(codesOf(schema, value)).toEqual([code])
    expect(textsOf(schema, value)).toEqual([text])
  })
})

test.each<[string, z.ZodType]>([
  ['a text', z.string()],
  ['a choice', z.enum(['a', 'b'])],
  ['a number', z.int()],
  ['an object', z.object({})],
  ['an array', z.array(z.string())],
  ['an id', z.uuid()],
  ['a constant', z.literal('a')],
  ['a union with a kind', kind],
])('%s that is not there is missing, whatever it would have to be', (_what, schema) => {
  expect(textsOf(shape(schema), {})).toEqual(['is missing'])
})

test.each(['cidrv6', 'e164', 'json_string', 'currency_code'])('%s is said in words', (format) => {
  const text = issueText({ code: 'invalid_format', format, input: 'x' } as never)
  expect(text).toMatch(/^must be (an?|JSON)/)
  expect(text).not.toContain(format)
})
