import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { errorInLog } from './error-in-log.ts'

const secret = 'vYw0Tq9ZkQe1'

test('says what kind it is, what it says and where, with its causes', () => {
  const cause = Object.assign(new TypeError('no route'), { code: 'EHOSTUNREACH', port: 5432 })
  const told = errorInLog(new RangeError('cannot ask', { cause }))
  expect(told).toMatchObject({
    type: 'RangeError',
    message: 'cannot ask: no route',
    code: 'EHOSTUNREACH',
    port: 5432,
    stack: expect.stringMatching(/RangeError: cannot ask\n[^]+caused by: TypeError: no route\n/),
  })
})

test('what it says of itself goes before what its causes say, and a circle ends', () => {
  const cause = Object.assign(new Error('b'), { code: 'B' })
  const error = Object.assign(new Error('a', { cause }), { code: 'A' })
  cause.cause = error
  expect(errorInLog(error)).toMatchObject({ code: 'A', message: 'a: b' })
})

test.each([
  ['a refused Redis command', { command: { name: 'auth', args: [secret] } }],
  ['a request that is no HTTP', { rawPacket: Buffer.from(secret) }],
  [
    'a row that did not fit',
    { detail: `Failing row contains (${secret})`, parameters: [secret], where: secret },
  ],
  ['the answer of a mail server', { response: `550 ${secret}`, command: 'AUTH PLAIN' }],
  ['a field that is known, of a form that is not', { code: { of: secret } }],
])('does not bring along %s', (_, fields) => {
  const text = JSON.stringify(errorInLog(Object.assign(new Error('refused'), fields)))
  expect(text).toContain('refused')
  expect(text).not.toContain(secret)
  expect(text).not.toContain([...Buffer.from(secret)].join())
})

test('of several at once, each is told so', () => {
  const one = Object.assign(new Error('one'), { code: 'ECONNREFUSED', command: secret })
  expect(errorInLog(new AggregateError([one, 'not an error'], 'both'))).toMatchObject({
    type: 'AggregateError',
    errors: [{ message: 'one', code: 'ECONNREFUSED' }],
  })
})

test('several at once that caused another are told too: each address that did not answer', () => {
  const refused = ['::1', '127.0.0.1'].map((address) =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}:9`), { code: 'ECONNREFUSED', address }),
  )
  expect(errorInLog(new TypeError('fetch failed', { cause: new AggregateError(refused) }))).toMatchObject({
    type: 'TypeError',
    errors: [{ address: '::1' }, { address: '127.0.0.1' }],
  })
})

test('several at once that hold themselves, or one another, come to an end', () => {
  const [one, other] = [new AggregateError([], 'one'), new AggregateError([], 'other')]
  one.errors.push(one, other)
  other.errors.push(one, new Error('third', { cause: other }))
  expect(errorInLog(one)).toMatchObject({
    message: 'one',
    errors: [{ message: 'other', errors: [{ message: 'third' }] }],
  })
})

test('a message of a megabyte is cut, and where it came from still stands in the stack', () => {
  const told = errorInLog(new Error('x'.repeat(1_000_000))) as { message: string; stack: string }
  expect(told.message).toMatch(/^x{4000}… \(996000 characters more\)$/)
  expect(told.stack.length).toBeLessThan(10_000)
  expect(told.stack).toContain('error-in-log.test.ts')
})

test('what is no error stays as it is, but for an object: of that only what is known of errors', () => {
  expect(errorInLog('text')).toBe('text')
  expect(errorInLog(undefined)).toBeUndefined()
  const thrown = { message: 'refused', code: 'EAUTH', command: { args: [secret] } }
  expect(errorInLog(thrown)).toEqual({ type: 'Object', message: 'refused', code: 'EAUTH' })
  expect(errorInLog(Object.create(null))).toEqual({ type: 'Object', message: 'not an error' })
})

test('an error of another realm is one', () => {
  const told = errorInLog(runInNewContext(`Object.assign(new RangeError('far'), { args: ['${secret}'] })`))
  expect(told).toMatchObject({ type: 'RangeError', message: 'far', stack: expect.stringContaining('far') })
  expect(JSON.stringify(told)).not.toContain(secret)
})
