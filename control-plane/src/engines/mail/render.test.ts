import { expect, test } from 'vitest'
import { wordsOf } from './mails.ts'
import { render } from './render.ts'

test('the name of a tenant makes neither a header nor a paragraph of its own', () => {
  const data = {
    link: 'https://svc.example/accept-invite#token=t',
    until: new Date('2026-12-01T10:00:00Z'),
    invitedBy: 'ann@provider.example',
  }
  const plain = render(wordsOf('invite', { ...data, tenant: 'Acme' })).text.split('\n').length
  const tenant = 'Acme\r\n\r\nYour account is locked\u2028\u2029\u0085Call 555'
  const { subject, text } = render(wordsOf('invite', { ...data, tenant }))
  expect(subject).toBe('You are invited to Acme Your account is locked Call 555')
  expect(text.split(/\r\n|[\n\r\u2028\u2029\u0085]/)).toHaveLength(plain)
})
