import { expect, test } from 'vitest'
import { isProviderAddress, readMetadata } from './metadata.ts'

const issuer = 'https://login.example'
const published = {
  issuer,
  authorization_endpoint: 'https://login.example/authorize',
  token_endpoint: 'https://login.example/token',
  userinfo_endpoint: 'https://login.example/me',
  jwks_uri: 'https://keys.example/jwks',
  id_token_signing_alg_values_supported: ['none', 'HS256', 'RS256', 'ES256'],
  registration_endpoint: 'https://login.example/register',
}

test('what is used is kept, and of the algorithms those that are accepted', () => {
  expect(readMetadata(issuer, published)).toEqual({
    issuer,
    authorization_endpoint: 'https://login.example/authorize',
    token_endpoint: 'https://login.example/token',
    userinfo_endpoint: 'https://login.example/me',
    jwks_uri: 'https://keys.example/jwks',
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    authorization_response_iss_parameter_supported: false,
  })
})

test.each([
  ['another issuer', { issuer: 'https://login.example/' }],
  ['an issuer in another case', { issuer: 'https://LOGIN.example' }],
  ['no issuer', { issuer: undefined }],
  ['no token endpoint', { token_endpoint: undefined }],
  ['no keys', { jwks_uri: undefined }],
  ['an endpoint that is a script', { authorization_endpoint: 'javascript:alert(1)' }],
  ['an endpoint without TLS', { token_endpoint: 'http://login.example/token' }],
  ['an endpoint on this machine', { token_endpoint: 'http://127.0.0.1/token' }],
  ['an endpoint with credentials', { userinfo_endpoint: 'https://a:b@login.example/me' }],
  ['no algorithm that is accepted', { id_token_signing_alg_values_supported: ['none', 'HS256', 'HS512'] }],
  ['an endpoint that is no text', { jwks_uri: 7 }],
])('%s is refused', (_, change) => {
  expect(() => readMetadata(issuer, { ...published, ...change })).toThrow(
    expect.objectContaining({ code: 'METADATA' }),
  )
})

test.each([null, 'x', [], {}])('%j is no metadata', (found) => {
  expect(() => readMetadata(issuer, found)).toThrow(expect.objectContaining({ code: 'METADATA' }))
})

test('an address is https, or http on this very machine', () => {
  for (const good of [
    'https://login.example/x',
    'http://127.0.0.1:8080',
    'http://localhost',
    'http://[::1]:1',
  ])
    expect([good, isProviderAddress(good)]).toEqual([good, true])
  for (const bad of [
    'http://login.example',
    'http://127.0.0.1.example',
    'https://a@b',
    'https://a/#b',
    'ftp://a',
    'x',
  ])
    expect([bad, isProviderAddress(bad)]).toEqual([bad, false])
})
