import { OidcError } from '../../../../adapters/oidc/oidc.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError } from '../../../../kernel/errors.ts'
import type { ProviderMetadata } from './schema.ts'

/** What a provider publishes of itself, or why it could not be read. */
export type Discovered = { metadata: ProviderMetadata } | { failure: OidcError }

/** Before any transaction: a provider answers when it likes. @param tenant whose request it is: one that asks much waits for itself alone */
export async function discover(
  { ports }: Pick<Ctx, 'ports'>,
  issuer: string,
  tenant: string,
): Promise<Discovered> {
  try {
    return { metadata: await ports.oidc.discover(issuer, tenant) }
  } catch (error) {
    if (error instanceof OidcError) return { failure: error }
    throw error
  }
}

/** What is stored of it. */
export const foundOf = (discovered: Discovered, at: Date) =>
  'metadata' in discovered
    ? { metadata: discovered.metadata, discoveredAt: at }
    : { metadata: null, discoveredAt: null }

/** An active provider is one that logins can be done with. @throws ApiError 400 SSO_PROVIDER_UNUSABLE */
export function requireUsable(discovered: Discovered | undefined): void {
  if (discovered && 'metadata' in discovered) return
  const failure = discovered?.failure
  throw new ApiError('SSO_PROVIDER_UNUSABLE', 'the identity provider cannot be used as it is', {
    details: failure ? [{ reason: failure.code, message: failure.message }] : [],
  })
}
