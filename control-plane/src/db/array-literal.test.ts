import { expect, test } from 'vitest'
import { bytesArray, isStorable, plainArray, storable, textArray } from './array-literal.ts'

test('plain values stand as they are, nothing becomes NULL', () => {
  expect(plainArray([1, 'ab-c', null, undefined, true])).toBe('{1,ab-c,NULL,NULL,true}')
  expect(plainArray([])).toBe('{}')
})

test('text is quoted, so that it can neither end the array nor be taken for NULL', () => {
  expect(textArray(['a,b', 'say "x" \\ }', 'NULL', '', null])).toBe(
    '{"a,b","say \\"x\\" \\\\ }","NULL","",NULL}',
  )
})

test('bytes travel as hex', () => {
  expect(bytesArray([Uint8Array.of(0, 255), null, new Uint8Array()])).toBe('{"\\\\x00ff",NULL,"\\\\x"}')
})

test('NUL and lone surrogates are replaced where one can see it, pairs are kept', () => {
  expect(storable('a\0b\u{d800}c😀')).toBe('a\u{fffd}b\u{fffd}c😀')
  expect(isStorable('a\0')).toBe(false)
  expect(isStorable('😀')).toBe(true)
})
