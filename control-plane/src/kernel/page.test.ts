import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ApiError } from './errors.ts'
import { type Cursor, cursors } from './page.ts'

const key = Buffer.alloc(32, 7)
const ours = cursors(key)
const place = { route: 'GET /things', sort: 'createdAt', direction: 'desc' } as const
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
  ])('of %s is refused', (_what, other) => {
    expect(isRefused(refusal(() => ours.read(ours.write({ ...place, ...other, keys }), place)))).toBe(true)
  })

  test.each(['', '.', 'a.b', 'a.b.c', 'null', '{}', '%00'])('that is %j is refused', (text) => {
    expect(isRefused(refusal(() => ours.read(text, place)))).toBe(true)
  })

  test('of another installation is refused', () => {
    const theirs = cursors(Buffer.alloc(32, 8)).write({ ...place, keys })
    expect(isRefused(refusal(() => ours.read(theirs, place)))).toBe(true)
  })
})
