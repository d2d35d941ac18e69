import { expect, test } from 'vitest'
import { defaultMapping } from '../providers/schema.ts'
import { readPerson, saysMfa } from './person.ts'

const claims = (attributes: Record<string, unknown>, subject = 'kim', amr: string[] = []) => ({
  subject,
  amr,
  authTime: undefined,
  attributes,
})
const read = (attributes: Record<string, unknown>, subject?: string) =>
  readPerson(claims(attributes, subject), defaultMapping)

test('an address is lower case, its domain ASCII', () => {
  expect(read({ email: 'Kim@Staff.EXAMPLE', email_verified: true })).toMatchObject({
    email: 'kim@staff.example',
    domain: 'staff.example',
    emailVerified: true,
  })
  expect(read({ email: 'kim+tag@staff.example' })).toMatchObject({
    email: 'kim+tag@staff.example',
    domain: 'staff.example',
  })
  // One spelling, whichever of the two it came in.
  for (const domain of ['bücher.example', 'BÜCHER.example', 'xn--bcher-kva.example'])
    expect(read({ email: `Kim@${domain}` })?.email).toBe('kim@xn--bcher-kva.example')
  // Letters that look alike: another domain.
  expect(read({ email: 'kim@st\u{430}ff.example' })?.domain).toBe('xn--stff-63d.example')
})

test.each([
  undefined,
  7,
  ['kim@staff.example'],
  '',
  'kim',
  '@staff.example',
  'kim@',
  'kim@evil.example@staff.example',
  'kim@staff.example@evil.example',
  'kim@staff.example+x',
  'kim@staff.example, boss@staff.example',
  '"kim"@staff.example',
  'kim@staff.example ',
  'kim\n@staff.example',
  'kim@staff.example\u{0}',
  'ｋim@staff.example',
  'kim@ｓtaff.example',
  'kim@staff',
  `${'k'.repeat(250)}@staff.example`,
  // Longer in lower case, and in ASCII.
  `${'\u{130}'.repeat(200)}@staff.example`,
  `${'k'.repeat(234)}@${'ü'.repeat(10)}.example`,
  // What nobody sees, and a domain would be without.
  'kim@staff\u{fe0f}.example',
  'kim@sta\u{34f}ff.example',
])('%j is no address', (email) => {
  expect(read({ email, email_verified: true })).toMatchObject({ email: undefined, domain: undefined })
})

test.each([undefined, false, null, 'true', 'True', 1, '1', [true], {}])(
  '%j does not say that it is verified',
  (said) => {
    expect(read({ email: 'kim@staff.example', email_verified: said })?.emailVerified).toBe(false)
  },
)

test('other claims say it where the mapping says so', () => {
  const mapping = { ...defaultMapping, email: 'upn', emailVerified: 'xms_edov' }
  const said = claims({ email: 'other@staff.example', email_verified: true, upn: 'kim@staff.example' })
  expect(readPerson(said, mapping)).toMatchObject({ email: 'kim@staff.example', emailVerified: false })
})

test('a name is what is said of it, and fits', () => {
  expect(read({ name: ' Kim\u{0}Lee\n' })?.name).toBe('Kim Lee')
  expect(read({ given_name: 'Kim', family_name: 'Lee' })?.name).toBe('Kim Lee')
  expect(read({ email: 'kim@staff.example', name: 7 })?.name).toBe('kim@staff.example')
  expect(read({ name: 'k'.repeat(300) })?.name).toHaveLength(255)
})

test('a subject that cannot be kept is nobody', () => {
  expect(read({}, 's'.repeat(256))).toBeUndefined()
  expect(read({}, 'a\u{0}b')).toBeUndefined()
})

test('only the word of the standard says that there was a second factor', () => {
  expect(saysMfa(claims({}, 'kim', ['pwd', 'mfa']))).toBe(true)
  for (const amr of [[], ['pwd'], ['otp'], ['MFA'], ['pwd,mfa']])
    expect(saysMfa(claims({}, 'kim', amr))).toBe(false)
})
