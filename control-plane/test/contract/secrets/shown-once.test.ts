import { expect, test } from 'vitest'
import { z } from 'zod'
import { routes } from '../../../src/areas/index.ts'
import { route } from '../../../src/kernel/route.ts'
import { kinds, type Kind } from './kinds.ts'
import { textsOf } from './surface.ts'

/**
 * Answers that show a secret, each the one time that it is made or proven. Nothing else may: what is stored is read as `has…: true`.
 */
const pair = ['accessToken', 'refreshToken']
const shownOnce: Record<string, readonly string[]> = {
  'POST /agents/enroll': ['deviceToken'],
  'POST /api-keys': ['key'],
  'POST /api-keys/:id/rotate': ['key'],
  'POST /auth/accept-invite': [...pair, 'tempToken'],
  'POST /auth/change-password': pair,
  'POST /auth/login': [...pair, 'tempToken'],
  'POST /auth/mfa/disable': pair,
  'POST /auth/mfa/enable': ['accessToken', 'recoveryCodes', 'refreshToken'],
  'POST /auth/mfa/recovery-codes': ['recoveryCodes'],
  'POST /auth/mfa/setup': ['otpAuthUrl', 'qrCodeDataUrl', 'recoveryCodes', 'secret'],
  'POST /auth/mfa/sms/enable': ['accessToken', 'recoveryCodes', 'refreshToken'],
  'POST /auth/mfa/verify': ['accessToken', 'recoveryCodes', 'refreshToken', 'tempToken'],
  'POST /auth/phone/confirm': pair,
  'POST /auth/refresh': pair,
  'POST /enrollment-keys': ['key'],
  'POST /enrollment-keys/:id/rotate': ['key'],
  'POST /sso/exchange': [...pair, 'tempToken'],
}

/** Fields that bear such a name and hold no stored secret. */
const harmless: Record<string, string> = {
  postalCode: 'of an address',
  publicKey: 'public',
  tokenUrl: 'an address that a provider publishes',
}

const secretFields = new Set(
  Object.values(kinds as Record<string, Kind>).flatMap(({ fields }) => fields ?? []),
)
const sounds =
  /secret|token|password|passphrase|credential|private|community|sealed|(^|[a-z])(Pin|Key|Codes?)$|^(pin|key|codes?)$|otp/i

const shownBy = (table: typeof routes) =>
  Object.fromEntries(
    textsOf(table)
      .map(({ route: { method, path }, answered }): [string, string[]] => [
        `${method} ${path}`,
        [...new Set(answered.filter((name) => secretFields.has(name) || sounds.test(name)))]
          .filter((name) => !Object.hasOwn(harmless, name))
          .sort(),
      ])
      .filter(([, fields]) => fields.length > 0),
  )

test('no answer shows a stored secret but those that show it once', () => {
  expect(shownBy(routes)).toEqual(shownOnce)
})

test('a field that is new is found', () => {
  const added = route('GET /things', {
    can: 'signed-in',
    summary: 'x',
    returns: z.object({ clientSecret: z.string(), hasClientSecret: z.boolean(), title: z.string() }),
    run: () => undefined,
  })
  expect(shownBy([...routes, added])).toMatchObject({ 'GET /things': ['clientSecret'] })
})
