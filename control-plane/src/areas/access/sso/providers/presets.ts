import { defaultMapping, type Preset } from './schema.ts'

const scopes = 'openid profile email'

/** What is known of common providers. `{…}` in `issuerTemplate` is the customer's own part. */
export const presets: readonly Preset[] = [
  {
    id: 'azure-ad',
    name: 'Microsoft Entra ID',
    issuerTemplate: 'https://login.microsoftonline.com/{tenantId}/v2.0',
    scopes,
    // It sends no `email_verified`; the optional claim `xms_edov` says whether the domain's owner was verified.
    attributeMapping: { ...defaultMapping, emailVerified: 'xms_edov' },
  },
  {
    id: 'okta',
    name: 'Okta',
    issuerTemplate: 'https://{domain}.okta.com',
    scopes,
    attributeMapping: defaultMapping,
  },
  {
    id: 'google',
    name: 'Google Workspace',
    issuerTemplate: 'https://accounts.google.com',
    scopes,
    attributeMapping: defaultMapping,
  },
  {
    id: 'auth0',
    name: 'Auth0',
    issuerTemplate: 'https://{domain}.auth0.com/',
    scopes,
    attributeMapping: defaultMapping,
  },
]
