import * as client from 'openid-client'
import { EgressError } from '../egress.ts'
import { OidcError } from './oidc.ts'

/** Everything that lies under an error. */
function* causes(error: unknown): Generator<object> {
  const seen = new Set<unknown>()
  let at = error
  while (typeof at === 'object' && at !== null && !seen.has(at)) {
    seen.add(at)
    yield at
    at = (at as { cause?: unknown }).cause
  }
}

const find = <T>(error: unknown, kind: abstract new (...args: never[]) => T): T | undefined =>
  [...causes(error)].find((cause): cause is T & object => cause instanceof kind)

/** The library's code, such as `OAUTH_INVALID_RESPONSE`: a word of a closed list. */
const codeOf = (error: unknown): string => {
  const code = [...causes(error)].map((cause) => (cause as { code?: unknown }).code).find(Boolean)
  return typeof code === 'string' && /^[A-Z_]{1,80}$/.test(code) ? code : 'unknown'
}

/** Not to be told apart from one that is slow or closed. */
const silent = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
])

/**
 * What the library or the way out threw, as one of our own codes. Also what the library did not foresee: it reads what a stranger sent,
 * and a stranger makes no fault of ours.
 */
export function oidcError(error: unknown, where: string): OidcError {
  if (error instanceof OidcError) return error
  const egress = find(error, EgressError)
  if (egress) return new OidcError('UNREACHABLE', `${where}: ${egress.message}`)
  const refused =
    error instanceof client.AuthorizationResponseError ||
    error instanceof client.ResponseBodyError ||
    error instanceof client.WWWAuthenticateChallengeError
  if (refused) return new OidcError('REFUSED', `${where}: the provider refused`)
  const code = codeOf(error)
  if (silent.has(code)) return new OidcError('UNREACHABLE', `${where}: no usable answer (${code})`)
  const kind = error instanceof client.ClientError ? code : error instanceof Error ? error.name : 'unknown'
  return new OidcError('UNVERIFIED', `${where}: ${kind}`)
}

/** Did the token endpoint leave the ID token out? The library says no more than that an answer is wrong; that of the keys it may be, too. */
export const lacksIdToken = (error: unknown): boolean =>
  [...causes(error)].some((cause) => {
    const { body } = cause as { body?: unknown }
    return typeof body === 'object' && body !== null && 'access_token' in body && !('id_token' in body)
  })
