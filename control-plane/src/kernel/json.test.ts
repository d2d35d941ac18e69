import { describe, expect, test, vi } from 'vitest'
import { ApiError } from './errors.ts'
import { bodyLimits, parseBody } from './json.ts'

const parse = (text: string | Uint8Array) => parseBody(typeof text === 'string' ? Buffer.from(text) : text)
const codeOf = (text: string | Uint8Array) => {
  try {
    parse(text)
    return 'read'
  } catch (error) {
    return error instanceof ApiError ? error.code : error
  }
}
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const withKeys = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1])))

describe('a body', () => {
  test('is read as JSON, and an empty one is none', () => {
    expect(parse('{"a":[1,null,"ä"]}')).toEqual({ a: [1, null, 'ä'] })
    expect(parse('')).toBeUndefined()
  })

  test.each(['{', '{"a":1,}', 'nope', '\u{feff}{}', "{'a':1}"])('that is %j is refused', (text) => {
    expect(codeOf(text)).toBe('BAD_REQUEST')
  })

  test('that is not UTF-8 is refused', () => {
    expect(codeOf(Buffer.from([0x22, 0xff, 0x22]))).toBe('BAD_REQUEST')
  })

  test.each([
    '{"__proto__":{"admin":true}}',
    '{"a":[{"__proto__":1}]}',
    '{"constructor":{"prototype":{}}}',
    '{"\\u005f_proto__":{}}',
  ])('that would reach into prototypes is refused: %s', (text) => {
    expect(codeOf(text)).toBe('BAD_REQUEST')
  })

  test('may have a field named constructor', () => {
    expect(parse('{"constructor":"Bauer GmbH"}')).toEqual({ constructor: 'Bauer GmbH' })
  })

  test('is nested as deep as the limit, and no deeper', () => {
    expect(codeOf(nested(bodyLimits.depth))).toBe('read')
    expect(codeOf(nested(bodyLimits.depth + 1))).toBe('PAYLOAD_TOO_LARGE')
    expect(codeOf(nested(200_000))).toBe('PAYLOAD_TOO_LARGE')
  })

  test('has as many values as the limit, and no more; in its texts there are none', () => {
    const zeros = (count: number) => `[${Array(count).fill('0').join()}]`
    expect(codeOf(zeros(bodyLimits.values))).toBe('read')
    expect(codeOf(zeros(bodyLimits.values + 2))).toBe('PAYLOAD_TOO_LARGE')
    expect(codeOf(JSON.stringify(`${'[{,:'.repeat(100_000)}\\"${',['.repeat(100_000)}`))).toBe('read')
  })

  test.each([
    ['brackets', '['.repeat(bodyLimits.bytes)],
    ['objects in each other', '{"a":'.repeat(200_000)],
    ['empty lists', `[${'[],'.repeat(300_000)}[]]`],
    ['empty objects', `[${'{},'.repeat(300_000)}{}]`],
    ['keys', withKeys(80_000)],
  ])('of a million bytes that are %s is refused before anything is made of it', (_, text) => {
    const parsed = vi.spyOn(JSON, 'parse')
    expect(codeOf(text)).toBe('PAYLOAD_TOO_LARGE')
    expect(parsed).not.toHaveBeenCalled()
    parsed.mockRestore()
  })

  test('has as many keys as the limit, and no more', () => {
    expect(codeOf(withKeys(bodyLimits.keys))).toBe('read')
    expect(codeOf(withKeys(bodyLimits.keys + 1))).toBe('PAYLOAD_TOO_LARGE')
  })
})
