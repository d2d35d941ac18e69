import type { SecretPlace } from '../../../../adapters/secrets.ts'

/** Where the client secret of a provider lies, sealed. */
export const clientSecretPlace = (provider: { id: string; orgId: string }): SecretPlace => ({
  table: 'sso_providers',
  column: 'client_secret',
  row: provider.id,
  org: provider.orgId,
})
