import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { newWebhookSecret, signWebhook } from './egress.ts'

/** Of the specification's own examples. */
const published = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  at: new Date(1_614_265_330_000),
  body: '{"test": 2432232314}',
  secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
}

test('a delivery is signed as the specification says', () => {
  expect(signWebhook(published)).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('while one secret replaces another there is a signature of each', () => {
  const secrets = [newWebhookSecret(), newWebhookSecret()]
  const body = Buffer.from([0, 1, 0xff])
  const { 'webhook-signature': text = '' } = signWebhook({ ...published, body, secrets })
  const expected = secrets.map((secret) => {
    const content = Buffer.concat([Buffer.from(`${published.id}.1614265330.`), body])
    return `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
      .update(content)
      .digest('base64')}`
  })
  expect(text.split(' ')).toEqual(expected)
})

test.each([
  ['an id with a dot', { id: 'a.b' }],
  ['no id', { id: '' }],
  ['no secret', { secrets: [] }],
  ['a secret without its prefix', { secrets: ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] }],
  ['a secret that is no base64', { secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa!!'] }],
  ['a short secret', { secrets: [`whsec_${Buffer.alloc(23).toString('base64')}`] }],
  ['a long secret', { secrets: [`whsec_${Buffer.alloc(65).toString('base64')}`] }],
])('%s is refused, and no secret is said', (_name, wrong) => {
  const sign = () => signWebhook({ ...published, ...wrong })
  expect(sign).toThrow(/webhook/)
  expect(sign).not.toThrow(/MfKQ/)
})
