import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Caller } from './context.ts'
import { ApiError } from './errors.ts'
import { type Cursor, cursors, placeOf } from './page.ts'

const key = Buffer.alloc(32, 7)
const ours = cursors(() => [key])
const order = { route: 'GET /things', sort: 'createdAt', direction: 'desc' } as const
const place = { ...order, asked: 'by somebody' }
const keys = ['2026-11-27 10:00:00.123456+00', '01a2']

const refusal = (read: () => unknown) => {
  try {
    read()
  } catch (error) {
    return error
  }
  return undefined
}
const isRefused = (error: unknown) =>
  error instanceof ApiError && error.code === 'VALIDATION_ERROR' && error.details[0]?.['field'] === 'cursor'

describe('a cursor', () => {
  test('comes back with the keys it was made of', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null))), (keys) => {
        expect(ours.read(ours.write({ ...place, keys }), place)).toEqual(keys)
      }),
    )
  })

  test('is refused when any of its characters was changed', () => {
    const cursor = ours.write({ ...place, keys })
    for (let at = 0; at < cursor.length; at++) {
      const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1)
      // The last character of base64url may carry spare bits: what decodes to the same bytes is the same cursor.
      const error = refusal(() => expect(ours.read(changed, place)).toEqual(keys))
      expect(error === undefined || isRefused(error)).toBe(true)
    }
    expect(isRefused(refusal(() => ours.read(`X${cursor}`, place)))).toBe(true)
  })

  test.each<[string, Partial<Cursor>]>([
    ['another list', { route: 'GET /others' }],
    ['another order', { sort: 'name' }],
    ['another direction', { direction: 'asc' }],
    ['somebody else', { asked: 'by another' }],
  ])('of %s is refused', (_what, other) => {
    expect(isRefused(refusal(() => ours.read(ours.write({ ...place, ...other, keys }), place)))).toBe(true)
  })

  test.each(['', '.', 'a.b', 'a.b.c', 'null', '{}', '%00'])('that is %j is refused', (text) => {
    expect(isRefused(refusal(() => ours.read(text, place)))).toBe(true)
  })

  test('of another installation is refused', () => {
    const theirs = cursors(() => [Buffer.alloc(32, 8)]).write({ ...place, keys })
    expect(isRefused(refusal(() => ours.read(theirs, place)))).toBe(true)
  })
})

describe('the place of a caller in a list', () => {
  const user = (id: string, membership = 'm1') =>
    ({ actor: { type: 'user', id, email: '' }, membership: { kind: 'partner', id: membership } }) as Caller
  const asked = (caller: Caller, query: object, params: object = {}) =>
    placeOf({ caller, params, query }, order).asked
  const first = asked(user('u1'), { status: 'online', search: 'x' })

  test.each<[string, object]>([
    ['the next page', { status: 'online', search: 'x', cursor: 'c' }],
    ['another size', { status: 'online', search: 'x', limit: 7, includeTotal: true }],
    ['another order of words', { search: 'x', status: 'online', osType: undefined }],
  ])('is the same for %s', (_what, query) => {
    expect(asked(user('u1'), query)).toBe(first)
  })

  test.each<[string, string]>([
    ['another user', asked(user('u2'), { status: 'online', search: 'x' })],
    ['another membership', asked(user('u1', 'm2'), { status: 'online', search: 'x' })],
    ['another filter', asked(user('u1'), { status: 'offline', search: 'x' })],
    ['a filter less', asked(user('u1'), { status: 'online' })],
    ['another device', asked(user('u1'), { status: 'online', search: 'x' }, { id: 'd1' })],
  ])('is another for %s', (_what, other) => {
    expect(other).not.toBe(first)
  })
})
