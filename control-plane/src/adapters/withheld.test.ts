import { expect, test } from 'vitest'
import { withheld } from './withheld.ts'

const secret = 'p@ss "w\\rd+ü'

test.each([
  ['itself', secret],
  ['in JSON', JSON.stringify({ secret })],
  ['in a URL', `https://x/?s=${encodeURIComponent(secret)}`],
  ['in a form', new URLSearchParams({ secret }).toString()],
  ['in base64', Buffer.from(secret).toString('base64')],
])('%s is left out, what is around it stays', (_, text) => {
  const said = withheld(`before ${text} after`, [secret])
  expect(said).toMatch(/^before .*\[withheld\].* after$/)
  expect(said).not.toContain('p@ss')
})

test('of one within another nothing is left over, and short ones take nothing away', () => {
  expect(withheld('at https://x/#token=abcdef!', ['abcdef', 'https://x/#token=abcdef'])).toBe(
    'at [withheld]!',
  )
  expect(withheld('550 no such mailbox', ['5', 'no'])).toBe('550 no such mailbox')
})
