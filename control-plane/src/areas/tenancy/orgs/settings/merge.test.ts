import { expect, test } from 'vitest'
import { effective, handedDown, lockedFields, merge, pathsOf } from './merge.ts'

test.each([
  [{}, { language: 'en' }, { language: 'en' }],
  [{ language: 'en' }, {}, { language: 'en' }],
  [{ language: 'en' }, { language: null }, {}],
  [
    { security: { minLength: 10 } },
    { security: { requireMfa: true } },
    { security: { minLength: 10, requireMfa: true } },
  ],
  [{ security: { minLength: 10 } }, { security: { minLength: null } }, {}],
  [
    { security: { allowedMfaMethods: { sms: false } } },
    { security: { allowedMfaMethods: { sms: true } } },
    { security: { allowedMfaMethods: { sms: true } } },
  ],
  [{ security: { minLength: 10 } }, { security: undefined }, { security: { minLength: 10 } }],
  [{}, { security: {} }, {}],
])('%j changed by %j is %j', (stored, change, merged) => {
  const before = structuredClone(stored)
  expect(merge(stored, change)).toEqual(merged)
  expect(stored).toEqual(before)
})

const partner = {
  language: 'fr-FR',
  contact: { email: 'noc@msp.example' },
  security: { requireMfa: false, allowedMfaMethods: { sms: false } },
  defaults: { defaultEnrollmentDeviceCount: 5, defaultEnrollmentTtlMinutes: 60 },
}

test('fields are named by their path', () => {
  expect(pathsOf({ language: null, security: { requireMfa: true, minLength: undefined } })).toEqual([
    'language',
    'security.requireMfa',
  ])
})

test('what a partner has set locks the field, also when it is false and when it is to be unset; but what is its own and defaults', () => {
  const change = {
    language: null,
    timezone: 'UTC',
    contact: { email: 'x@y.example' },
    security: { requireMfa: true, minLength: 12, allowedMfaMethods: { sms: true } },
    defaults: { defaultEnrollmentDeviceCount: 9 },
  }
  expect(lockedFields(change, partner)).toEqual([
    'language',
    'security.requireMfa',
    'security.allowedMfaMethods.sms',
  ])
  expect(lockedFields(change, {})).toEqual([])
})

test('in an organization holds what its partner has set, its own where that is silent, and its own defaults', () => {
  const own = {
    language: 'en',
    contact: { name: 'Ada' },
    security: { requireMfa: true, minLength: 12 },
    defaults: { defaultEnrollmentDeviceCount: 9 },
  }
  expect(effective(own, partner)).toEqual({
    language: 'fr-FR',
    contact: { name: 'Ada' },
    security: { requireMfa: false, minLength: 12, allowedMfaMethods: { sms: false } },
    defaults: { defaultEnrollmentDeviceCount: 9, defaultEnrollmentTtlMinutes: 60 },
  })
  expect(effective({}, {})).toEqual({})
  expect(Object.keys(handedDown(partner))).toEqual(['language', 'security', 'defaults'])
})
