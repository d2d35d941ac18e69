import { expect, test } from 'vitest'
import { totpOf } from './totp.ts'

/** RFC 6238 appendix B: the secret is the ASCII text 12345678901234567890, codes shortened to six digits. */
const rfcSecret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

const at = (seconds: number) => totpOf({ now: () => new Date(seconds * 1_000) })

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_234_567_890, '005924'],
  [20_000_000_000, '353130'],
])('at %i the code of RFC 6238 is %s', async (seconds, code) => {
  expect(await at(seconds).stepOf(rfcSecret, code)).toBe(Math.floor(seconds / 30))
})

test('a code counts for its step and the one after, and says which step it was', async () => {
  const step = 1_111_111_109 - (1_111_111_109 % 30)
  const code = '081804'
  const when = async (seconds: number) => at(seconds).stepOf(rfcSecret, code)
  expect(await when(step + 59)).toBe(step / 30)
  expect(await when(step + 61)).toBeUndefined()
  expect(await when(step - 5)).toBe(step / 30) // clocks differ a little
  expect(await when(step - 6)).toBeUndefined()
})

test.each(['', '08180', '0818044', '08180a', ' 081804', '０８１８０４'])('%j is no code', async (code) => {
  expect(await at(1_111_111_109).stepOf(rfcSecret, code)).toBeUndefined()
})

test('a new secret has 160 bits and its address names the account', () => {
  const totp = at(0)
  const secret = totp.secret()
  expect(secret).toMatch(/^[A-Z2-7]{32}$/)
  expect(totp.uri(secret, 'a b@c.de')).toBe(`otpauth://totp/svc:a%20b%40c.de?secret=${secret}&issuer=svc`)
})
