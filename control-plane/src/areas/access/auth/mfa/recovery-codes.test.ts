import { expect, test } from 'vitest'
import { makeRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import { Code } from './schema.ts'

test('ten different codes of 25 base 32 characters', () => {
  const codes = makeRecoveryCodes()
  expect(new Set(codes).size).toBe(10)
  for (const code of codes) expect(code).toMatch(/^[A-Z2-7]{25}$/)
})

test('a code reads the same however it is grouped', () => {
  const [code = ''] = makeRecoveryCodes()
  const grouped = code.replaceAll(/(.{5})(?=.)/g, '$1-').toLowerCase()
  expect(Code.parse(` ${grouped} `)).toBe(code)
  expect(Code.parse('123 456')).toBe('123456')
})

test.each(['12345', '1234567', 'ABCDEFGHIJKLMNOPQRSTUVWX', '', 'ABCDEFGHIJKLMNOPQRSTUVW01'])(
  '%j is no code',
  (text) => {
    expect(Code.safeParse(text).success).toBe(false)
  },
)

test('one code of two users has two digests', () => {
  expect(recoveryCodeHash('a', 'CODE')).not.toEqual(recoveryCodeHash('b', 'CODE'))
})
