import type { ProviderMetadata } from './metadata.ts'

/** An identity provider as a login is done with it. */
export interface OidcProvider {
  /** what keeps its keys apart from those of others: another one after each change of the configuration */
  key: string
  /** the tenant whose budget of requests to the outside it is, however many providers it has */
  budget: string
  clientId: string
  clientSecret: string
  metadata: ProviderMetadata
}

/** What ties an answer of the provider to the login that it is for. */
export interface LoginSecrets {
  state: string
  nonce: string
  /** RFC 7636; the provider is told its SHA-256 alone */
  verifier: string
}

/** What a provider says of somebody, verified: signature, issuer, audience, times, nonce, and that both sources speak of one subject. */
export interface VerifiedClaims {
  subject: string
  /** of the ID token: how and when somebody proved who they are */
  amr: readonly string[]
  authTime: Date | undefined
  /** of the UserInfo endpoint, else of the ID token: attributes are never mixed of both */
  attributes: Readonly<Record<string, unknown>>
}

/**
 * | code | what |
 * |---|---|
 * | UNREACHABLE | the provider, or a part of it, gives no answer that can be used |
 * | METADATA | what it publishes of itself is not what it must be |
 * | REFUSED | it says that the login failed: the user cancelled, may not, or the client is wrong |
 * | MISDIRECTED | the answer is of another provider or for another login (RFC 9207) |
 * | NO_ID_TOKEN | it gave tokens, and none of them says who it is |
 * | NO_SUBJECT | nor does that one |
 * | UNVERIFIED | what it says cannot be verified |
 * | SUBJECT_MISMATCH | UserInfo speaks of somebody else than the ID token |
 */
export type OidcCode =
  | 'UNREACHABLE'
  | 'METADATA'
  | 'REFUSED'
  | 'MISDIRECTED'
  | 'NO_ID_TOKEN'
  | 'NO_SUBJECT'
  | 'UNVERIFIED'
  | 'SUBJECT_MISMATCH'

/** Why a provider is of no use. `message` is a line of ours: nothing that the provider sent is in it. */
export class OidcError extends Error {
  override name = 'OidcError'
  readonly code: OidcCode

  constructor(code: OidcCode, message: string) {
    super(message)
    this.code = code
  }
}

/** OpenID Connect, as a client with a secret: code flow, PKCE, nonce, RFC 9207. */
export interface Oidc {
  /** Asks what a provider publishes of itself, and checks it. @param budget as {@link OidcProvider} has it @throws OidcError UNREACHABLE, METADATA */
  discover(issuer: string, budget: string): Promise<ProviderMetadata>
  /** Where the browser is sent. @param scopes with blanks between them */
  loginUrl(
    provider: OidcProvider,
    login: LoginSecrets,
    to: { redirectUri: string; scopes: string },
  ): Promise<string>
  /** The browser is back. @param callback the redirect URI with the query that came. @throws OidcError */
  finish(provider: OidcProvider, login: LoginSecrets, callback: URL): Promise<VerifiedClaims>
}
