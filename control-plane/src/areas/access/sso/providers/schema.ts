import { z } from 'zod'
import { isProviderAddress } from '../../../../adapters/oidc/metadata.ts'
import { notEmpty } from '../../../../kernel/changed.ts'
import { Id } from '../../../../kernel/id.ts'
import { label, text } from '../../../../kernel/text.ts'
import { asDomains } from './domains.ts'

export type { ProviderMetadata } from '../../../../adapters/oidc/metadata.ts'

export const ProviderStatus = z.enum(['active', 'inactive', 'testing'])
export type ProviderStatus = z.output<typeof ProviderStatus>

const Claim = label(100)
const ClaimOf = z.strictObject({
  email: Claim.describe('The e-mail address'),
  emailVerified: Claim.describe('Whether the address was verified: only `true` itself counts'),
  name: Claim.describe('The full name'),
  firstName: Claim.describe('Used with `lastName` where there is no full name'),
  lastName: Claim.describe('Used with `firstName` where there is no full name'),
})

/** Which claim says what of a person; OpenID Connect Core 1.0 §5.1. */
export const AttributeMapping = ClaimOf.meta({
  id: 'AttributeMapping',
  description: 'Which claim of the identity provider says what of a person.',
})
export type AttributeMapping = z.output<typeof AttributeMapping>

export const defaultMapping: AttributeMapping = {
  email: 'email',
  emailVerified: 'email_verified',
  name: 'name',
  firstName: 'given_name',
  lastName: 'family_name',
}

export const Preset = z
  .object({
    id: z.string(),
    name: z.string(),
    issuerTemplate: z.string().describe('Put the customer’s own part in place of `{…}`'),
    scopes: z.string(),
    attributeMapping: AttributeMapping,
  })
  .meta({ id: 'SsoPreset', description: 'What is known of a common identity provider.' })
export type Preset = z.output<typeof Preset>
export const Presets = z.object({ presets: z.array(Preset) })

/** An organization's identity provider (interface §SSO provider). The client secret is never shown. */
export const Provider = z
  .object({
    id: z.uuid(),
    orgId: z.uuid(),
    name: z.string(),
    type: z.enum(['oidc']),
    status: ProviderStatus.describe(
      'Only `active` serves logins; `testing` serves `POST /sso/providers/:id/test` alone',
    ),
    issuer: z.string(),
    clientId: z.string(),
    hasClientSecret: z.literal(true).describe('The secret is stored sealed, and shown nowhere'),
    scopes: z.string(),
    attributeMapping: AttributeMapping,
    authorizationUrl: z.string().nullable().describe('Discovered, as the next four are; null: not yet'),
    tokenUrl: z.string().nullable(),
    userInfoUrl: z.string().nullable(),
    jwksUrl: z.string().nullable(),
    discoveredAt: z.date().nullable(),
    redirectUri: z.string().describe('What to register at the provider'),
    loginUrl: z.string().describe('Where a browser begins'),
    autoProvision: z.boolean(),
    defaultRoleId: z.uuid().nullable(),
    allowedDomains: z.string().nullable().describe('Comma-separated; null: any'),
    enforceSSO: z.boolean(),
    trustsIdpMfa: z.boolean(),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: 'SsoProvider', description: 'An organization’s identity provider.' })
export type Provider = z.output<typeof Provider>

export const ProviderFilter = z.strictObject({ orgId: Id.optional().describe('Only of this organization') })
export type ProviderFilter = z.output<typeof ProviderFilter>

const Issuer = text(2_048)
  .trim()
  .refine(isProviderAddress, 'must be an https address')
  .refine((issuer) => !issuer.includes('?'), 'must have no query')

const Scopes = label(500)
  .refine(
    (scopes) => /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(scopes),
    'must be words with one blank between them',
  )
  .refine((scopes) => scopes.split(' ').includes('openid'), 'must have openid among them')

const Domains = text(1_000)
  .nullable()
  .transform((listed, ctx) => {
    const domains = listed === null ? [] : asDomains(listed)
    if (!domains) {
      ctx.addIssue({ code: 'custom', message: 'must be domains with commas between them' })
      return z.NEVER
    }
    return domains.length > 0 ? domains : null
  })

const words = {
  name: '1 to 255 characters; whoever asks `GET /sso/check/:orgId` sees it',
  issuer: 'As the provider itself writes it, to the letter; its endpoints are discovered',
  clientId: 'At most 255 characters',
  clientSecret: 'At most 2,048 characters; stored sealed, and never shown',
  scopes: 'With blanks between them, `openid` among them',
  mapping: 'Which claims say what; what is left out is as the standard has it',
  autoProvision: 'An unknown user gets an account',
  defaultRoleId:
    'Their role: one of the organization, of which the caller holds everything; needed with `autoProvision`',
  allowedDomains:
    'E-mail domains that may log in, comma-separated; null: any, and then no account that is there is linked',
  enforceSSO: 'Passwords open nothing in the organization while the provider is active',
  trustsIdpMfa: 'A second factor that the provider says it checked counts as one',
}

const Mapping = ClaimOf.partial()

export const CreateProvider = z
  .strictObject({
    orgId: Id.optional().describe('Left out by members of an organization: theirs'),
    name: label(255).describe(words.name),
    type: z.enum(['oidc']).default('oidc').describe('Only OpenID Connect is there'),
    issuer: Issuer.describe(words.issuer),
    clientId: label(255).describe(words.clientId),
    clientSecret: text(2_048).min(1).describe(words.clientSecret),
    scopes: Scopes.default('openid profile email').describe(words.scopes),
    attributeMapping: Mapping.default({}).describe(words.mapping),
    autoProvision: z.boolean().default(false).describe(words.autoProvision),
    defaultRoleId: Id.nullable().default(null).describe(words.defaultRoleId),
    allowedDomains: Domains.default(null).describe(words.allowedDomains),
    enforceSSO: z.boolean().default(false).describe(words.enforceSSO),
    trustsIdpMfa: z.boolean().default(false).describe(words.trustsIdpMfa),
  })
  .meta({
    id: 'CreateSsoProvider',
    examples: [
      {
        name: 'Staff login',
        issuer: 'https://login.customer.example',
        clientId: 'svc',
        clientSecret: 'from the provider',
        allowedDomains: 'customer.example',
      },
    ],
  })
export type CreateProvider = z.output<typeof CreateProvider>

export const UpdateProvider = z
  .strictObject({
    name: label(255).optional().describe(words.name),
    issuer: Issuer.optional().describe(`${words.issuer}. Another one ends what was linked by the one before`),
    clientId: label(255).optional().describe(words.clientId),
    clientSecret: text(2_048).min(1).optional().describe(words.clientSecret),
    scopes: Scopes.optional().describe(words.scopes),
    attributeMapping: Mapping.optional().describe(`${words.mapping}. Replaces the one before`),
    autoProvision: z.boolean().optional().describe(words.autoProvision),
    defaultRoleId: Id.nullable().optional().describe(words.defaultRoleId),
    allowedDomains: Domains.optional().describe(words.allowedDomains),
    enforceSSO: z.boolean().optional().describe(words.enforceSSO),
    trustsIdpMfa: z.boolean().optional().describe(words.trustsIdpMfa),
  })
  .refine(...notEmpty)
  .meta({ id: 'UpdateSsoProvider', examples: [{ enforceSSO: true }] })
export type UpdateProvider = z.output<typeof UpdateProvider>

export const SetStatus = z
  .strictObject({ status: ProviderStatus.describe('Any of the three, from any') })
  .meta({ id: 'SetSsoProviderStatus', examples: [{ status: 'testing' }] })
export type SetStatus = z.output<typeof SetStatus>

/** Whether discovery works, and what it found. Nothing of what the provider sent is in it but addresses and names of algorithms. */
export const TestedProvider = z
  .object({
    success: z.boolean(),
    error: z
      .object({ code: z.enum(['UNREACHABLE', 'METADATA']), message: z.string() })
      .nullable()
      .describe('Why it does not work'),
    issuer: z.string(),
    authorizationUrl: z.string().nullable(),
    tokenUrl: z.string().nullable(),
    userInfoUrl: z.string().nullable(),
    jwksUrl: z.string().nullable(),
    algorithms: z.array(z.string()).describe('What an ID token of this provider may be signed with'),
  })
  .meta({ id: 'TestedSsoProvider', description: 'What discovery of an identity provider found.' })
export type TestedProvider = z.output<typeof TestedProvider>
