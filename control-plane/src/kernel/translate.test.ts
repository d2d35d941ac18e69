import { BusDown } from '@svc/proto/bus'
import { describe, expect, test } from 'vitest'
import { PasswordsBusy } from '../adapters/passwords.ts'
import { ApiError } from './errors.ts'
import { PoolBusy } from './pool-turns.ts'
import { translate } from './translate.ts'

const thrown = (code: string, more: object = {}) =>
  Object.assign(new Error('secret detail of table users'), { code, ...more })

describe('what was thrown is answered as', () => {
  test.each([
    ['23505', 'CONFLICT'],
    ['23503', 'CONFLICT'],
    ['22P02', 'VALIDATION_ERROR'],
    ['22021', 'VALIDATION_ERROR'],
    ['57014', 'UNAVAILABLE'],
    ['57P01', 'UNAVAILABLE'],
    ['CONNECT_TIMEOUT', 'UNAVAILABLE'],
    ['CONNECTION_CLOSED', 'UNAVAILABLE'],
    ['ECONNREFUSED', 'UNAVAILABLE'],
    ['DATABASE_AWAY', 'UNAVAILABLE'],
    ['55P03', 'UNAVAILABLE'],
    ['42501', 'INTERNAL'],
    ['42P01', 'INTERNAL'],
  ])('%s: %s, and nothing of it is told', (code, wanted) => {
    const refusal = translate(thrown(code))
    expect(refusal.code).toBe(wanted)
    expect(JSON.stringify(refusal.body())).not.toContain('secret')
    expect(refusal.cause).toBeInstanceOf(Error)
  })

  test('itself when it is a refusal already', () => {
    const refusal = new ApiError('NOT_FOUND', 'not found')
    expect(translate(refusal)).toBe(refusal)
  })

  test('a fault when it is nothing known, whatever it is', () => {
    for (const odd of [undefined, null, 'text', 7, {}]) expect(translate(odd).code).toBe('INTERNAL')
  })

  test('try again soon when a queue or the bus is full', () => {
    // Turned away by design: not a line of the log each.
    expect(translate(new PasswordsBusy('busy')).shed).toBe(true)
    expect(translate(new PoolBusy('busy')).shed).toBe(true)
    expect(translate(new BusDown('up:1')).shed).toBe(false)
    for (const busy of [new PasswordsBusy('busy'), new PoolBusy('busy'), new BusDown('up:1')]) {
      expect(translate(busy).body()).toMatchObject({
        error: { code: 'UNAVAILABLE' },
        retryAfter: expect.any(Number),
      })
    }
  })

  test.each([
    ['FST_ERR_BAD_URL', 400],
    ['FST_ERR_MAX_PARAM_LENGTH', 414],
  ])('%s: without the path that the framework quotes', (code, statusCode) => {
    const refusal = translate(thrown(code, { statusCode }))
    expect(refusal.code).toBe('BAD_REQUEST')
    expect(JSON.stringify(refusal.body())).not.toContain('secret')
  })

  test('the framework’s refusals, by their status', () => {
    expect(translate(thrown('FST_ERR_CTP_BODY_TOO_LARGE', { statusCode: 413 })).code).toBe(
      'PAYLOAD_TOO_LARGE',
    )
    expect(translate(thrown('FST_ERR_CTP_INVALID_MEDIA_TYPE', { statusCode: 415 }))).toMatchObject({
      code: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'send application/json',
    })
    expect(translate(thrown('FST_ERR_CTP_INVALID_CONTENT_LENGTH', { statusCode: 400 })).code).toBe(
      'BAD_REQUEST',
    )
    expect(translate(thrown('FST_ERR_REP_INVALID_PAYLOAD_TYPE', { statusCode: 500 })).code).toBe('INTERNAL')
  })
})
