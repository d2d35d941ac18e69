import { z } from 'zod'
import { OidcError } from './oidc.ts'

/** What an ID token may be signed with: asymmetric, and nothing that is deprecated. Never `none`, never with the client's secret. */
export const signingAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const
const supported: ReadonlySet<string> = new Set(signingAlgorithms)

const Address = z.string().max(2_048)
const Words = z.array(z.string().max(200)).max(200)

/** OpenID Connect Discovery 1.0 §3, as far as it is used. */
const Published = z.object({
  issuer: Address,
  authorization_endpoint: Address,
  token_endpoint: Address,
  userinfo_endpoint: Address.exactOptional(),
  jwks_uri: Address,
  id_token_signing_alg_values_supported: Words.default(['RS256']),
  token_endpoint_auth_methods_supported: Words.default(['client_secret_basic']),
  authorization_response_iss_parameter_supported: z.boolean().default(false),
})
/** What is kept of a provider's metadata. */
export type ProviderMetadata = z.output<typeof Published>

const loopback = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/

/** Plain http is for a provider on this very machine; whether that may be asked is for the egress to say. */
export const isPlain = (address: string): boolean => {
  const url = URL.parse(address)
  return url?.protocol === 'http:' && loopback.test(url.hostname)
}

/** An address of a provider: https, without credentials and fragment. */
export function isProviderAddress(address: string): boolean {
  const url = URL.parse(address)
  if (!url || url.username !== '' || url.password !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || isPlain(address)
}

const wrong = (what: string) => new OidcError('METADATA', what)

/** @throws OidcError METADATA */
export function readMetadata(issuer: string, found: unknown): ProviderMetadata {
  const parsed = Published.safeParse(found)
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path.join('.') ?? ''
    throw wrong(`the metadata has no usable ${/^[\w.]{1,60}$/.test(field) ? field : 'fields'}`)
  }
  const metadata = parsed.data
  // To the letter: an issuer that is nearly the same is another one.
  if (metadata.issuer !== issuer) throw wrong('the metadata is of another issuer than the configured one')
  const addresses = [
    metadata.authorization_endpoint,
    metadata.token_endpoint,
    metadata.userinfo_endpoint ?? metadata.jwks_uri,
    metadata.jwks_uri,
  ]
  if (!addresses.every(isProviderAddress)) throw wrong('an endpoint of the metadata is no https address')
  if (!isPlain(issuer) && addresses.some(isPlain)) throw wrong('an endpoint of the metadata is not https')
  const algorithms = metadata.id_token_signing_alg_values_supported.filter((alg) => supported.has(alg))
  if (algorithms.length === 0) throw wrong('the provider signs with no algorithm that is accepted')
  return { ...metadata, id_token_signing_alg_values_supported: algorithms }
}
