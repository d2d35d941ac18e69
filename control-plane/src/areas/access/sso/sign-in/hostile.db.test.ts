import { decodeJwt, exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload } from 'jose'
import { createPublicKey } from 'node:crypto'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import { outcomeOf } from '../../../../../test/harness/idp/browser.ts'
import { forge } from '../../../../../test/harness/idp/forge.ts'
import { startIdp } from '../../../../../test/harness/idp/idp.ts'
import { egressEnv, redirectUri, type SsoOrg, ssoStage } from '../../../../../test/harness/idp/stage.ts'

const t = await testApp({ env: egressEnv })
const idp = await startIdp(redirectUri)
const { browser, open } = ssoStage(t)
let org: SsoOrg
let trusting: SsoOrg | undefined
let serial = 0
const logIn = (at: { orgId: string } = org) => browser(`u${serial++}`).logIn(at.orgId)

beforeAll(async () => {
  org = await open(idp)
})
afterEach(() => {
  idp.tamper = {}
})

const forging = (...how: Parameters<typeof forge> extends [unknown, ...infer Rest] ? Rest : never) =>
  forge(idp, ...how)
const without = (name: string) => (body: object) =>
  Object.fromEntries(Object.entries(body).filter(([key]) => key !== name))
const unsigned = (header: object, claims: object) =>
  `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`

test('what is forged by nobody is taken: signed anew, unchanged', async () => {
  forging((claims) => claims)
  expect(await logIn()).toHaveProperty('code')
})

test.each<[string, (claims: JWTPayload) => JWTPayload]>([
  ['another issuer', (claims) => ({ ...claims, iss: 'https://evil.example' })],
  ['the issuer with a slash', (claims) => ({ ...claims, iss: `${claims.iss}/` })],
  ['no issuer', without('iss')],
  ['another audience', (claims) => ({ ...claims, aud: 'somebody-else' })],
  [
    'several audiences, without a word who it is for',
    (claims) => ({ ...claims, aud: [String(claims.aud), 'x'] }),
  ],
  [
    'several audiences, for somebody else',
    (claims) => ({ ...claims, aud: [String(claims.aud), 'x'], azp: 'x' }),
  ],
  ['another nonce', (claims) => ({ ...claims, nonce: 'guess' })],
  ['no nonce', without('nonce')],
  ['an end long past', (claims) => ({ ...claims, exp: Math.floor(Date.now() / 1_000) - 61 })],
  ['no end', without('exp')],
  ['an end that is text', (claims) => ({ ...claims, exp: String(claims.exp) as never })],
  ['no subject', without('sub')],
])('an ID token with %s is refused', async (_, change) => {
  forging(change)
  expect(await logIn()).toEqual({ error: 'sso_provider_unverified' })
})

test('a clock that is a little off is no reason', async () => {
  forging((claims) => ({ ...claims, exp: Math.floor(Date.now() / 1_000) - 30 }))
  expect(await logIn()).toHaveProperty('code')
})

test('an ID token that nobody signed is refused, and so is one signed with what everybody knows', async () => {
  idp.tamper['/token'] = (body) => ({
    ...body,
    id_token: unsigned({ alg: 'none' }, decodeJwt(String(body['id_token']))),
  })
  expect(await logIn()).toEqual({ error: 'sso_provider_unverified' })
  const jwks = (await (await fetch(`${idp.issuer}/jwks`)).json()) as { keys: [JWK] }
  const spki = await exportSPKI(createPublicKey({ key: jwks.keys[0] as never, format: 'jwk' }))
  for (const secret of [spki, idp.clientSecret]) {
    forging((claims) => claims, { alg: 'HS256' }, new TextEncoder().encode(secret))
    expect(await logIn()).toEqual({ error: 'sso_provider_unverified' })
  }
})

test('one that says HS256 or none is acceptable to it makes neither acceptable to us', async () => {
  idp.tamper['/.well-known/openid-configuration'] = (body) => ({
    ...body,
    id_token_signing_alg_values_supported: ['none', 'HS256', 'RS256'],
  })
  const lax = await open(idp)
  const tested = await t.request(`POST /sso/providers/${lax.providerId}/test`, lax.admin)
  expect(tested.body.algorithms).toEqual(['RS256'])
  forging((claims) => claims, { alg: 'HS256' }, new TextEncoder().encode(idp.clientSecret))
  expect(await logIn(lax)).toEqual({ error: 'sso_provider_unverified' })
})

test('a signature of another key is refused, whatever key id it claims or brings along', async () => {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  forging((claims) => claims, {}, privateKey)
  expect(await logIn()).toEqual({ error: 'sso_provider_unverified' })
  forging((claims) => claims, { jwk: await exportJWK(publicKey), jku: 'http://127.0.0.1:9/jwks' }, privateKey)
  expect(await logIn()).toEqual({ error: 'sso_provider_unverified' })
})

test('a flood of unknown key ids makes nobody ask the provider for its keys again and again', async () => {
  const fresh = await open(idp)
  expect(await logIn(fresh)).toHaveProperty('code')
  const before = idp.asked.get('/jwks') ?? 0
  for (let i = 0; i < 10; i++) {
    forging((claims) => claims, { kid: `unknown-${i}` })
    expect(await logIn(fresh)).toEqual({ error: 'sso_provider_unverified' })
  }
  expect((idp.asked.get('/jwks') ?? 0) - before).toBe(0)
  // A minute later they may have been rotated: once.
  const now = Date.now()
  vi.spyOn(Date, 'now').mockImplementation(() => now + 61_000)
  for (let i = 0; i < 5; i++) {
    forging((claims) => ({ ...claims, exp: Number(claims.exp) + 120 }), { kid: `unknown-${i}` })
    expect(await logIn(fresh)).toEqual({ error: 'sso_provider_unverified' })
  }
  vi.restoreAllMocks()
  expect((idp.asked.get('/jwks') ?? 0) - before).toBe(1)
})

test('userinfo of another subject is refused, and of none', async () => {
  idp.tamper['/me'] = (body) => ({ ...body, sub: 'somebody-else' })
  expect(await logIn()).toEqual({ error: 'sso_subject_mismatch' })
  idp.tamper['/me'] = without('sub')
  expect(await logIn()).toEqual({ error: 'sso_provider_unverified' })
})

test('no ID token is told so', async () => {
  idp.tamper['/token'] = without('id_token')
  expect(await logIn()).toEqual({ error: 'sso_no_id_token' })
})

test.each([
  ['an error', () => ({ error: 'invalid_client', error_description: 'secret' })],
  ['a list', () => [] as never],
  ['nothing', () => ({})],
  ['a token that is none', () => ({ access_token: 'x', token_type: 'Bearer', id_token: 'x' })],
  ['half a megabyte', (body: object) => ({ ...body, more: 'x'.repeat(512 * 1024) })],
])('a token endpoint that answers with %s makes no fault', async (_, answer) => {
  idp.tamper['/token'] = answer
  const came = await logIn()
  expect(came).toEqual({ error: expect.stringMatching(/^sso_(error|provider_unverified|no_id_token)$/) })
})

test('what a provider sends is shown to nobody, and kept nowhere', async () => {
  idp.tamper['/token'] = () => ({ error: 'invalid_request', error_description: 'CANARY' })
  await logIn()
  idp.tamper['/.well-known/openid-configuration'] = () => ({ issuer: 'CANARY', token_endpoint: 'CANARY' })
  const tested = await t.request(`POST /sso/providers/${org.providerId}/test`, org.admin)
  expect(tested.body.success).toBe(false)
  expect(JSON.stringify(tested.body)).not.toContain('CANARY')
  const rows = await t.db.rows`select details from audit_log where details::text like '%CANARY%'`
  expect(rows).toEqual([])
})

test('the answer of one provider is not taken for another’s (RFC 9207)', async () => {
  const other = await startIdp(redirectUri)
  const theirs = await open(other)
  const kim = browser('kim')
  const [mine, foreign] = [await kim.toCallback(org.orgId), await kim.toCallback(theirs.orgId)]
  const [a, b] = [new URL(mine), new URL(foreign)]
  expect(a.searchParams.get('iss')).toBe(idp.issuer)
  const asked = idp.asked.get('/token') ?? 0
  // The code of one with the state of the other: it would be shown to the wrong token endpoint.
  const swapped = new URL(mine)
  swapped.searchParams.set('code', b.searchParams.get('code') ?? '')
  swapped.searchParams.set('iss', other.issuer)
  expect(outcomeOf(await kim.follow(swapped.href))).toEqual({ error: 'invalid_callback' })
  const without = new URL(foreign)
  without.searchParams.delete('iss')
  expect(outcomeOf(await kim.follow(without.href))).toEqual({ error: 'invalid_callback' })
  expect(idp.asked.get('/token') ?? 0).toBe(asked)
  expect(other.asked.get('/token') ?? 0).toBe(0)
})

test.each([
  ['a method that cannot be made a text', { amr: ['mfa', { toString: 1, valueOf: 1 }] }],
  ['methods that are no list', { amr: { mfa: true } }],
  ['a time that is none', { amr: ['mfa'], auth_time: 1e300 }],
  ['a time that no calendar has', { amr: ['mfa'], auth_time: 8.7e12 }],
  ['a time to come', { amr: ['mfa'], auth_time: 8e12 }],
])('%s, signed, is left out, and makes no fault', async (_, claims) => {
  trusting ??= await open(idp, { trustsIdpMfa: true })
  forging((body) => ({ ...body, ...claims }))
  const answer = await browser(`u${serial++}`).tokens(trusting.orgId)
  expect(answer.status).toBe(200)
})

test.each([
  ['no list', () => ({ keys: null })],
  ['nothing that is a key', () => ({ keys: [null, 5, { kty: 'RSA', n: 'AQAB' }] })],
])('keys that are %s verify nothing, and are not taken for a missing ID token', async (_, keys) => {
  idp.tamper['/jwks'] = keys
  expect(await logIn(await open(idp))).toEqual({ error: 'sso_provider_unverified' })
})

test('a provider that is gone ends with a code, at the beginning and at the end', async () => {
  const brief = await startIdp(redirectUri)
  const at = await open(brief)
  const kim = browser('kim')
  const callback = await kim.toCallback(at.orgId)
  brief.tamper['/token'] = () => Promise.reject(new Error('cut'))
  expect(outcomeOf(await kim.follow(callback))).toEqual({ error: 'sso_error' })
})
