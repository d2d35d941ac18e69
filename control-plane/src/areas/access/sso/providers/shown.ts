import type { AuditSubject, Ctx } from '../../../../kernel/context.ts'
import type { ProviderRow } from './queries.ts'
import type { Provider, ProviderMetadata } from './schema.ts'

/** What providers are told to send browsers back to. One for all: RFC 9207 and the state say whose answer it is. */
export const redirectUriOf = ({ config }: Ctx['ports']): string => `${config.publicUrl}/api/v1/sso/callback`

export const loginUrlOf = ({ config }: Ctx['ports'], orgId: string): string =>
  `${config.publicUrl}/api/v1/sso/login/${orgId}`

/** The addresses of a provider. */
export const addressesOf = (metadata: ProviderMetadata | null) => ({
  authorizationUrl: metadata?.authorization_endpoint ?? null,
  tokenUrl: metadata?.token_endpoint ?? null,
  userInfoUrl: metadata?.userinfo_endpoint ?? null,
  jwksUrl: metadata?.jwks_uri ?? null,
})

/** A provider as it is shown. */
export function shown(ports: Ctx['ports'], row: ProviderRow): Provider {
  const { partnerId: _partner, metadata, configVersion: _version, enforceSso, allowedDomains, ...rest } = row
  return {
    ...rest,
    ...addressesOf(metadata),
    hasClientSecret: true,
    redirectUri: redirectUriOf(ports),
    loginUrl: loginUrlOf(ports, row.orgId),
    allowedDomains: allowedDomains && allowedDomains.join(','),
    enforceSSO: enforceSso,
  }
}

export const aboutProvider = (
  { id, name, partnerId, orgId }: ProviderRow,
  details: Record<string, unknown>,
): AuditSubject => ({ type: 'sso_provider', id, name, partnerId, orgId, details })
