import { expect, test } from 'vitest'
import { describeShown } from './server.ts'

test('a mail that nothing sends is shown in one line: to whom, about what, and its link', () => {
  const mail = {
    by: 'mail',
    to: 'ann@example.com',
    text: 'Reset your password',
    link: 'http://x/#token=svcl_1',
  } as const
  expect(describeShown(mail)).toBe('mail to ann@example.com: Reset your password http://x/#token=svcl_1')
})

test('a text message is shown with its words, and nothing in it moves the cursor', () => {
  const message = {
    by: 'sms',
    to: '+4915112345678',
    text: '123456 is\r\n\u001b[2Jyour code',
    link: null,
  } as const
  expect(describeShown(message)).toBe('text message to +4915112345678: 123456 is [2Jyour code')
})
