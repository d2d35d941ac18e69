import { LRUCache } from 'lru-cache'
import * as client from 'openid-client'
import type { Egress } from '../egress.ts'
import { lacksIdToken, oidcError } from './failures.ts'
import { oidcFetch } from './fetch.ts'
import { isPlain, type ProviderMetadata, readMetadata } from './metadata.ts'
import { type LoginSecrets, type Oidc, OidcError, type OidcProvider, type VerifiedClaims } from './oidc.ts'

/** Between a provider's clock and ours: what is expired for this long is still taken. */
const clockToleranceSeconds = 60
/** For one answer of the provider; a browser waits for three of them. */
const timeoutSeconds = 10

/** RFC 6749 §2.3.1: by header where the provider takes that, which is also what holds where it does not say. */
const authOf = ({ clientSecret, metadata }: OidcProvider) =>
  metadata.token_endpoint_auth_methods_supported.includes('client_secret_basic')
    ? client.ClientSecretBasic(clientSecret)
    : client.ClientSecretPost(clientSecret)

/** The library's own `fetch` is never used: every request goes through the egress. */
function configure(egress: Egress, provider: OidcProvider): client.Configuration {
  const { metadata, clientId } = provider
  const tolerance = { [client.clockTolerance]: clockToleranceSeconds }
  const config = new client.Configuration(metadata, clientId, tolerance, authOf(provider))
  config[client.customFetch] = oidcFetch(egress, `sso ${provider.budget}`)
  config.timeout = timeoutSeconds
  // Signatures are checked although the ID token comes from the provider itself.
  client.enableNonRepudiationChecks(config)
  if (isPlain(metadata.issuer)) client.allowInsecureRequests(config)
  return config
}

/** @param egress the only way to a provider */
export function oidcOf(egress: Egress): Oidc {
  // Keys of providers are remembered in here: of an unknown one they are asked for again once a minute at most.
  const configurations = new LRUCache<string, client.Configuration>({ max: 1_000, ttl: 3_600_000 })
  const configurationOf = (provider: OidcProvider) => {
    const known = configurations.get(provider.key)
    if (known) return known
    const made = configure(egress, provider)
    configurations.set(provider.key, made)
    return made
  }
  return {
    discover: (issuer, budget) => discover(egress, issuer, budget),
    loginUrl: async (provider, login, { redirectUri, scopes }) =>
      client.buildAuthorizationUrl(configurationOf(provider), {
        redirect_uri: redirectUri,
        scope: scopes,
        response_type: 'code',
        state: login.state,
        nonce: login.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(login.verifier),
        code_challenge_method: 'S256',
      }).href,
    finish: (provider, login, callback) => finish(configurationOf(provider), provider, login, callback),
  }
}

async function discover(egress: Egress, issuer: string, budget: string): Promise<ProviderMetadata> {
  try {
    const found = await client.discovery(new URL(issuer), 'discovery', undefined, client.None(), {
      [client.customFetch]: oidcFetch(egress, `sso ${budget}`),
      timeout: timeoutSeconds,
      execute: isPlain(issuer) ? [client.allowInsecureRequests] : [],
    })
    return readMetadata(issuer, found.serverMetadata())
  } catch (error) {
    const known = oidcError(error, 'discovery')
    throw known.code === 'UNVERIFIED' ? new OidcError('METADATA', known.message) : known
  }
}

async function finish(
  config: client.Configuration,
  { metadata }: OidcProvider,
  login: LoginSecrets,
  callback: URL,
): Promise<VerifiedClaims> {
  requireOwnAnswer(metadata, login, callback)
  const tokens = await client
    .authorizationCodeGrant(config, callback, {
      expectedState: login.state,
      expectedNonce: login.nonce,
      pkceCodeVerifier: login.verifier,
      idTokenExpected: true,
    })
    .catch((error: unknown) => {
      if (lacksIdToken(error)) throw new OidcError('NO_ID_TOKEN', 'token: no ID token')
      throw oidcError(error, 'token')
    })
  const claims = tokens.claims()
  if (!claims) throw new OidcError('NO_ID_TOKEN', 'token: no ID token')
  if (typeof claims.sub !== 'string' || claims.sub === '')
    throw new OidcError('NO_SUBJECT', 'token: no subject')
  return {
    subject: claims.sub,
    amr: wordsOf(claims['amr']),
    authTime: timeOf(claims.auth_time),
    attributes:
      metadata.userinfo_endpoint === undefined
        ? claims
        : await userInfo(config, tokens.access_token, claims.sub),
  }
}

/** What is signed is not for that reason of the kind that it should be: no other value is made into a text. */
const wordsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []

/** Undefined also for a number that is no time. */
function timeOf(seconds: unknown): Date | undefined {
  const at = new Date(typeof seconds === 'number' ? seconds * 1_000 : Number.NaN)
  return Number.isNaN(at.getTime()) ? undefined : at
}

/** RFC 9207, and the state: before anything is sent to the provider's token endpoint. */
function requireOwnAnswer(metadata: ProviderMetadata, login: LoginSecrets, { searchParams }: URL) {
  const iss = searchParams.get('iss')
  const isMissing = iss === null && metadata.authorization_response_iss_parameter_supported
  if (isMissing || (iss !== null && iss !== metadata.issuer))
    throw new OidcError('MISDIRECTED', 'the answer is not of the provider that was asked')
  if (searchParams.get('state') !== login.state)
    throw new OidcError('MISDIRECTED', 'the answer is for another login')
}

async function userInfo(config: client.Configuration, accessToken: string, subject: string) {
  try {
    return await client.fetchUserInfo(config, accessToken, subject)
  } catch (error) {
    const known = oidcError(error, 'userinfo')
    const isOther = known.message.endsWith('OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
    throw isOther ? new OidcError('SUBJECT_MISMATCH', 'userinfo: of another subject') : known
  }
}
