import { describe, expect, test } from 'vitest'
import { type Admission, decide, type SsoAccount } from './decide.ts'

const person = {
  subject: 'kim',
  email: 'kim@staff.example',
  domain: 'staff.example',
  emailVerified: true,
  name: 'Kim',
}
const admission: Admission = { autoProvision: true, defaultRoleId: 'role', allowedDomains: ['staff.example'] }
const member: SsoAccount = {
  id: 'account',
  status: 'active',
  linked: false,
  otherSubject: false,
  member: true,
  wider: false,
  proved: true,
  hasPassword: true,
}
const outcome = (
  account: Partial<SsoAccount> | undefined,
  more: { person?: object; admission?: Partial<Admission> } = {},
) => {
  const decision = decide(
    { ...person, ...more.person },
    { ...admission, ...more.admission },
    account && { ...member, ...account },
  )
  return decision.kind === 'refuse' ? decision.code : decision.kind
}

describe('somebody whom nobody knows', () => {
  test.each([
    ['is provisioned', {}, 'provision'],
    ['is not, where that is off', { autoProvision: false }, 'user_not_found'],
    ['is not, without a role', { defaultRoleId: null }, 'default_role_required'],
    ['is provisioned from any domain where none is listed', { allowedDomains: null }, 'provision'],
    ['is not, from another domain', { allowedDomains: ['other.example'] }, 'domain_not_allowed'],
    ['is not, from a domain below', { allowedDomains: ['example'] }, 'domain_not_allowed'],
  ] as const)('%s', (_, more, expected) => {
    expect(outcome(undefined, { admission: more })).toBe(expected)
  })
})

describe('an account that is known by its address', () => {
  test.each([
    ['of a member', {}, 'link'],
    ['of a member without a password', { proved: false, hasPassword: false }, 'link'],
    ['of nobody here', { member: false }, 'no_org_access'],
    ['of a partner’s user', { wider: true }, 'no_org_access'],
    ['that is disabled', { status: 'disabled' }, 'no_org_access'],
    ['that is linked to another subject', { otherSubject: true }, 'sso_link_required'],
    ['with a password of whoever typed the address', { proved: false }, 'no_org_access'],
  ] as const)('%s', (_, account, expected) => {
    expect(outcome(account)).toBe(expected)
  })

  test('is linked by a listed domain alone', () => {
    expect(outcome({}, { admission: { allowedDomains: null } })).toBe('domain_not_allowed')
  })

  test('is linked whether or not unknown ones are provisioned', () => {
    expect(outcome({}, { admission: { autoProvision: false, defaultRoleId: null } })).toBe('link')
  })
})

describe('an account that is linked', () => {
  test.each([
    ['comes in', {}, 'admit'],
    [
      'comes in although it is more elsewhere: the login reaches this organization alone',
      { wider: true },
      'admit',
    ],
    ['does not once it was removed', { member: false }, 'no_org_access'],
    ['does not once it is disabled', { status: 'disabled' }, 'no_org_access'],
  ] as const)('%s', (_, account, expected) => {
    expect(outcome({ linked: true, ...account })).toBe(expected)
  })

  test('comes in from any domain where none is listed, and from listed ones otherwise', () => {
    expect(outcome({ linked: true }, { admission: { allowedDomains: null } })).toBe('admit')
    expect(outcome({ linked: true }, { admission: { allowedDomains: ['other.example'] } })).toBe(
      'domain_not_allowed',
    )
  })
})

test.each([
  ['no address', { email: undefined, domain: undefined }],
  ['an address that nobody verified', { emailVerified: false }],
])('%s opens nothing, to anybody', (_, more) => {
  for (const account of [undefined, {}, { linked: true }])
    expect(outcome(account, { person: more })).toBe('sso_email_unverified')
})
