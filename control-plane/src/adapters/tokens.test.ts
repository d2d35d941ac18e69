import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JWTHeaderParameters, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, describe, expect, test } from 'vitest'
import { openKeySet, rotateKeys } from './keys.ts'
import { type AccessClaims, tokensOf } from './tokens.ts'

const dir = mkdtempSync(join(tmpdir(), 'svc-keys-'))
afterAll(() => rmSync(dir, { recursive: true }))

let now = new Date('2026-11-27T10:00:00Z')
const clock = { now: () => now }
const keys = openKeySet(dir, 'jwt')
const origin = 'https://svc.example'
const tokens = tokensOf(keys, origin, clock)
const claims: AccessClaims = {
  userId: '01a21f8a-3ea1-71ca-a52c-014e2d5cab46',
  sessionId: '01a21f8a-3ea1-71ca-a52c-014e2d5cab47',
  authEpoch: 3,
  mfa: true,
  amr: ['pwd', 'otp'],
  membership: { kind: 'partner', id: '01a21f8a-3ea1-71ca-a52c-014e2d5cab48' },
}
const seconds = () => Math.floor(now.getTime() / 1_000)

/** A token as ours, but for what is said. */
function forge(
  payload: JWTPayload = {},
  header: Partial<JWTHeaderParameters> = {},
  key = keys.current().privateKey,
) {
  const { userId, sessionId, authEpoch, mfa, amr, membership } = claims
  const own = {
    sid: sessionId,
    aep: authEpoch,
    mfa,
    amr,
    mem: membership,
    sub: userId,
    iss: origin,
    aud: `${origin}/api`,
  }
  const times = { iat: seconds(), exp: seconds() + 900 }
  return new SignJWT({ ...own, ...times, ...payload } as JWTPayload)
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: keys.current().id, ...header })
    .sign(key)
}

describe('an access token', () => {
  test('says when it is verified what was said when it was issued, for 15 minutes', async () => {
    const { accessToken, expiresInSeconds } = await tokens.issue(claims)
    expect(expiresInSeconds).toBe(900)
    expect(await tokens.verify(accessToken)).toMatchObject(claims)
    expect(await tokens.verify(await forge())).toMatchObject(claims)
  })

  test('ends, within the five seconds that clocks may differ', async () => {
    const { accessToken } = await tokens.issue(claims)
    const issued = now
    now = new Date(issued.getTime() + 904_000)
    await expect(tokens.verify(accessToken)).resolves.toBeDefined()
    now = new Date(issued.getTime() + 906_000)
    await expect(tokens.verify(accessToken)).rejects.toThrow()
    now = issued
  })

  test.each<[string, JWTPayload]>([
    ['another issuer', { iss: 'https://else.example' }],
    ['another audience', { aud: 'https://svc.example/other' }],
    ['several audiences that do not hold ours', { aud: ['a', 'b'] }],
    ['no subject', { sub: undefined } as never],
    ['a subject that is no uuid', { sub: 'admin' }],
    ['no session', { sid: undefined }],
    ['an end that is a text', { exp: '9999999999' } as never],
    ['no end', { exp: undefined } as never],
    ['an end beyond all time and an old issue', { exp: 9e15, iat: seconds() - 3_600 }],
    ['an issue in the future', { iat: seconds() + 3_600, exp: seconds() + 4_000 }],
    ['a membership of an unknown kind', { mem: { kind: 'system', id: claims.userId } }],
  ])('with %s is refused', async (_what, payload) => {
    await expect(tokens.verify(await forge(payload))).rejects.toThrow()
  })

  test.each<[string, Partial<JWTHeaderParameters>]>([
    ['another type', { typ: 'JWT' }],
    ['no type', { typ: undefined } as never],
    ['an unknown key', { kid: 'nobody' }],
    ['a key that is a path', { kid: '../../dev/null' }],
    ['no key', { kid: undefined } as never],
  ])('with %s in its header is refused', async (_what, header) => {
    await expect(tokens.verify(await forge({}, header))).rejects.toThrow()
  })

  test('signed by somebody else, by nobody, or with the public key as a secret is refused', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    await expect(tokens.verify(await forge({}, {}, privateKey))).rejects.toThrow()
    await expect(tokens.verify(new UnsecuredJWT({ sub: claims.userId }).encode())).rejects.toThrow()
    const secret = new TextEncoder().encode(
      keys.current().publicKey.export({ type: 'spki', format: 'pem' }) as string,
    )
    const confused = await new SignJWT({ sub: claims.userId })
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: keys.current().id })
      .sign(secret)
    await expect(tokens.verify(confused)).rejects.toThrow()
  })

  test('that is too long or cut is refused', async () => {
    await expect(tokens.verify(await forge({ amr: ['x'.repeat(5_000)] }))).rejects.toThrow('too long')
    const { accessToken } = await tokens.issue(claims)
    for (const odd of [
      '',
      '.',
      '..',
      `${accessToken}.`,
      accessToken.slice(0, -1),
      accessToken.split('.')[0] ?? '',
    ]) {
      await expect(tokens.verify(odd)).rejects.toThrow()
    }
  })

  test('of the key before still counts after a rotation', async () => {
    const { accessToken } = await tokens.issue(claims)
    rotateKeys(dir, 'jwt')
    const renewed = tokensOf(openKeySet(dir, 'jwt'), origin, clock)
    await expect(renewed.verify(accessToken)).resolves.toMatchObject(claims)
  })
})
