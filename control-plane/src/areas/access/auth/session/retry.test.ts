import { expect, test } from 'vitest'
import { openAnswer, sealAnswer } from './retry.ts'

const pair = { accessToken: 'access', refreshToken: 'refresh', expiresInSeconds: 900 }

test('an answer opens for the token and key it was sealed for', () => {
  expect(openAnswer(sealAnswer(pair, 'used', 'key-1'), 'used', 'key-1')).toEqual(pair)
})

test('another token, another key or a changed byte does not open it', () => {
  const sealed = sealAnswer(pair, 'used', 'key-1')
  expect(() => openAnswer(sealed, 'other', 'key-1')).toThrow()
  expect(() => openAnswer(sealed, 'used', 'key-2')).toThrow()
  const changed = Buffer.from(sealed)
  changed[changed.length - 1] = (changed[changed.length - 1] ?? 0) ^ 1
  expect(() => openAnswer(changed, 'used', 'key-1')).toThrow()
})

test('what is stored shows nothing of the tokens', () => {
  expect(sealAnswer(pair, 'used', 'key-1').toString('latin1')).not.toContain('refresh')
})
