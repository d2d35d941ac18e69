import { expect, test } from 'vitest'
import { z } from 'zod'
import { ApiError } from './errors.ts'
import { csv, flag, wholeNumber } from './query-text.ts'
import { list, route } from './route.ts'
import { validate } from './validate.ts'

const Body = z.strictObject({
  name: z.string().min(1).max(20),
  kind: z.enum(['a', 'b', 'c']),
  size: z.int().min(1).max(10).optional(),
  place: z.strictObject({ city: z.string() }).optional(),
})
const post = route('POST /things/:id', {
  summary: 'Make',
  can: 'signed-in',
  audit: { none: 'a test' },
  query: z.object({
    ids: csv(z.uuid()).optional(),
    all: flag.default(false),
    page: wholeNumber(1, 9).optional(),
  }),
  body: Body,
  run: () => undefined,
})
const choice = route('POST /choices', {
  summary: 'Choose',
  can: 'signed-in',
  audit: { none: 'a test' },
  body: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('one'), payload: z.strictObject({ n: z.int() }) }),
    z.strictObject({ type: z.literal('two') }),
  ]),
  run: () => undefined,
})
const plain = route('GET /plain', { summary: 'Plain', can: 'public', run: () => undefined })

const id = '0195d0a0-7c11-7000-8000-000000000001'

/** `[in, field, message]` of each flaw. */
function flaws(on: typeof post, given: { params?: unknown; query?: unknown; body?: unknown }): unknown[] {
  try {
    validate(on, { params: {}, query: {}, body: undefined, ...given })
    return []
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.details.map((flaw) => [flaw['in'], flaw['field'], flaw['message']])
  }
}
const body = (value: unknown) => flaws(post, { params: { id }, body: value })
const query = (value: unknown) =>
  flaws(post, { params: { id }, body: { name: 'x', kind: 'a' }, query: value })

test('what is missing is missing, whatever its kind', () => {
  expect(body({})).toEqual([
    ['body', 'name', 'is missing'],
    ['body', 'kind', 'is missing'],
  ])
  expect(flaws(choice, { body: {} })).toEqual([['body', 'type', 'is missing']])
  expect(flaws(choice, { body: { type: 'one' } })).toEqual([['body', 'payload', 'is missing']])
})

test('a body that is not there, or is no object, is a flaw of the body', () => {
  expect(body(undefined)).toEqual([['body', 'body', 'is missing']])
  expect(body([])).toEqual([['body', 'body', 'must be an object']])
  expect(body(null)).toEqual([['body', 'body', 'must be an object']])
  expect(flaws(plain, { body: 'text' })).toEqual([['body', 'body', 'must be left out']])
  expect(flaws(plain, { body: {} })).toEqual([])
})

test('each flaw of a body names its field, at any depth', () => {
  expect(body({ name: '', kind: 'd', size: 11, place: { city: 1, street: 'x' }, extra: 1 })).toEqual([
    ['body', 'name', 'must not be empty'],
    ['body', 'kind', 'must be one of a, b, c'],
    ['body', 'size', 'must be at most 10'],
    ['body', 'place.city', 'must be a string'],
    ['body', 'place.street', 'is not known'],
    ['body', 'extra', 'is not known'],
  ])
  expect(flaws(choice, { body: { type: 'three' } })).toEqual([['body', 'type', 'must be one of one, two']])
})

test('a query key is given once, whatever it would hold', () => {
  expect(query({ all: ['true', 'true'] })).toEqual([['query', 'all', 'must be given once']])
  expect(query({ ids: [id, id] })).toEqual([['query', 'ids', 'must be given once']])
  expect(query({ page: ['1', 'x'], extra: '1' })).toEqual([
    ['query', 'page', 'must be given once'],
    ['query', 'extra', 'is not known'],
  ])
  expect(flaws(plain, { query: { x: ['1', '2'] } })).toContainEqual(['query', 'x', 'is not known'])
})

test('an item of a list in a query is named, under the parameter’s own name', () => {
  expect(query({ ids: `${id},nonsense` })).toEqual([['query', 'ids', '"nonsense" must be a UUID']])
})

test('a path id that is none is a flaw of the path', () => {
  expect(flaws(post, { params: { id: 'x' }, body: { name: 'x', kind: 'a' } })).toEqual([
    ['path', 'id', 'must be a UUID'],
  ])
})

test('what is right comes out as the schemas read it', () => {
  const given = { params: { id }, query: { all: '', page: '3' }, body: { name: 'x', kind: 'b' } }
  expect(validate(post, given)).toEqual({
    params: { id },
    query: { all: true, page: 3 },
    body: { name: 'x', kind: 'b' },
  })
})

test('a list’s own keys are read in the same way', () => {
  const things = list('GET /things', {
    summary: 'All',
    can: 'signed-in',
    item: z.object({ id: z.uuid(), at: z.date() }),
    newestBy: 'at',
    run: async () => [],
  })
  const limit = (value: unknown) => flaws(things, { query: { limit: value } })
  expect(limit('0')).toEqual([['query', 'limit', 'must be at least 1']])
  expect(limit('501')).toEqual([['query', 'limit', 'must be at most 500']])
  expect(limit('')).toEqual([['query', 'limit', 'must be a whole number']])
  expect(limit(['1', '2'])).toEqual([['query', 'limit', 'must be given once']])
})

test('no answer lists flaws without end', () => {
  const many = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`k${index}`, 1]))
  expect(body({ name: 'x', kind: 'a', ...many })).toHaveLength(50)
})
