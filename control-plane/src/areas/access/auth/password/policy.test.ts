import { expect, test } from 'vitest'
import { requireGoodPassword } from './policy.ts'

const known = ['ann.lee@acme-corp.example', 'Ann Lee', 'Acme Corp']
const judged = async (password: string, minLength?: number) => {
  try {
    await requireGoodPassword({ password, known, minLength })
    return 'good'
  } catch (error) {
    const { code, message, details } = error as {
      code: string
      message: string
      details: { reason: string }[]
    }
    expect([code, message]).toEqual([
      'WEAK_PASSWORD',
      'choose another password: long enough, and not easily guessed',
    ])
    return details[0]?.reason
  }
}
/** Strong and of any length. */
const long = (characters: number) => 'Hv7#qPzw!fR2k'.repeat(20).slice(0, characters)

test.each([
  ['correct horse battery staple', 'good'],
  ['höhere Gewölbe 🐘🐘 klingen', 'good'],
  [long(9), 'good'],
  [long(256), 'good'],
  [long(257), 'too_long'],
  ['🐘'.repeat(257), 'too_long'],
  [long(7), 'too_short'],
  ['', 'too_short'],
  ['password', 'guessable'],
  ['P@ssw0rd123', 'guessable'],
  ['qwertyuiop', 'guessable'],
  ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'guessable'],
  ['abcabcabcabcabc', 'guessable'],
  ['19840512', 'guessable'],
  ['ann.lee@acme-corp.example', 'guessable'],
  ['Acme-Corp-2026', 'guessable'],
  ['AnnLeeAnnLee1', 'guessable'],
  ['svc-svc-svc-svc', 'guessable'],
])('%s is %s', async (password, verdict) => {
  expect(await judged(password)).toBe(verdict)
})

test('a tenant may ask for more characters and never for fewer', async () => {
  expect(await judged(long(11), 12)).toBe('too_short')
  expect(await judged(long(12), 12)).toBe('good')
  expect(await judged(long(7), 1)).toBe('too_short')
  expect(await judged(long(256), 10_000)).toBe('good')
})

test('what is known of its owner does not spoil a password that is strong without it', async () => {
  expect(await judged('ann keeps turquoise walruses')).toBe('good')
})

test('the end of a long password cannot make its beginning weaker, and 100 KB are refused without an estimate', async () => {
  const began = process.cpuUsage()
  expect(await judged(long(100_000))).toBe('too_long')
  const { user, system } = process.cpuUsage(began)
  expect((user + system) / 1_000).toBeLessThan(200)
  expect(await judged(long(40) + 'a'.repeat(200))).toBe('good')
})
