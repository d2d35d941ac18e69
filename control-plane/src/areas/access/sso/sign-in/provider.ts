import { OidcError, type OidcProvider } from '../../../../adapters/oidc/oidc.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { discover } from '../providers/discovery.ts'
import { clientSecretPlace } from '../providers/secret.ts'
import type { ProviderMetadata } from '../providers/schema.ts'
import type { ProviderAtWork } from './queries.ts'

/** What a provider publishes is asked for again after this long, when somebody logs in. */
const metadataLifeMs = 24 * 3_600_000

/** As the OpenID Connect client takes it. @param metadata of the row, or newer */
export function oidcProviderOf(
  { secrets }: Ctx['ports'],
  row: ProviderAtWork,
  { metadata, at }: { metadata: ProviderMetadata; at: Date | null },
): OidcProvider {
  return {
    key: `${row.id} ${row.configVersion} ${at?.getTime() ?? 0}`,
    budget: row.orgId,
    clientId: row.clientId,
    clientSecret: secrets.open(row.clientSecret, clientSecretPlace(row)).toString(),
    metadata,
  }
}

/** `found`: asked for just now, and worth keeping. */
export interface Current {
  metadata: ProviderMetadata
  at: Date | null
  found: boolean
}

/**
 * What the provider publishes of itself: as it was known, where that is young enough, or where it does not answer now.
 *
 * @throws OidcError where nothing is known
 */
export async function currentMetadata(ctx: Pick<Ctx, 'ports'>, row: ProviderAtWork): Promise<Current> {
  const now = ctx.ports.clock.now()
  const { metadata, discoveredAt: at } = row
  if (metadata && at && now.getTime() - at.getTime() < metadataLifeMs) return { metadata, at, found: false }
  const discovered = await discover(ctx, row.issuer, row.orgId)
  if ('metadata' in discovered) return { metadata: discovered.metadata, at: now, found: true }
  if (metadata) return { metadata, at, found: false }
  throw discovered.failure
}

/** The error of a provider, or undefined for one that is none of it. */
export const oidcErrorOf = (error: unknown): OidcError | undefined =>
  error instanceof OidcError ? error : undefined
