import { z } from 'zod'
import { Moment } from '../../../kernel/moment.ts'
import { Id } from '../../../kernel/id.ts'
import { rangeText, readRange } from '../../../kernel/address-ranges.ts'
import { notEmpty } from '../../../kernel/changed.ts'
import { label } from '../../../kernel/text.ts'

export const ApiKeyStatus = z.enum(['active', 'revoked', 'expired'])
export type ApiKeyStatus = z.output<typeof ApiKeyStatus>

/** Lets a program in with some of its owner's rights. The key itself is not kept, so it is never in here. */
export const ApiKey = z
  .object({
    id: z.uuid(),
    orgId: z
      .uuid()
      .nullable()
      .describe('The one organization that it is for; null: as far as its owner’s membership reaches'),
    name: z.string(),
    prefix: z.string().describe('What the key begins with, to recognize it by'),
    scopes: z.array(z.string()).describe('The most that it may do: permissions such as `devices:read`'),
    status: ApiKeyStatus,
    rateLimit: z.int().describe('Requests per minute'),
    ipAllowlist: z.array(z.string()).nullable().describe('Where it may be used from; null: anywhere'),
    expiresAt: z.date(),
    revokedAt: z.date().nullable(),
    usageCount: z.int().describe('Requests with its present secret; up to a minute late'),
    lastUsedAt: z.date().nullable().describe('Up to a minute late'),
    createdBy: z
      .uuid()
      .describe('Its owner: the user who made its present secret, and with whose rights it acts'),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({
    id: 'ApiKey',
    description:
      'Lets a program in, in header `X-API-Key`. It may do what its scopes say as far as its owner may at that moment. The key itself is not kept, so it is not in here.',
  })
export type ApiKey = z.output<typeof ApiKey>

/** The answer to creation and rotation: the only time a key is shown. */
export const NewApiKey = ApiKey.extend({
  key: z.string().describe('What goes into header `X-API-Key`; shown this once'),
}).meta({ id: 'NewApiKey', description: 'An API key, and the only answer that ever shows it.' })
export type NewApiKey = z.output<typeof NewApiKey>

export const ApiKeyFilter = z.strictObject({
  orgId: Id.optional().describe('Only keys for this organization'),
  status: ApiKeyStatus.optional().describe('Only keys in this state'),
})
export type ApiKeyFilter = z.output<typeof ApiKeyFilter>

/** Which scopes there are is said by the service, whose refusal lists them. */
const Scopes = z
  .array(z.string().max(151))
  .min(1)
  .max(100)
  .transform((scopes) => [...new Set(scopes)])

const Range = z
  .string()
  .max(64)
  .superRefine((text, ctx) => {
    const range = readRange(text)
    if (typeof range === 'string') ctx.addIssue(range)
  })

const IpAllowlist = z
  .array(Range)
  .min(1)
  .max(50)
  .transform((ranges) => [...new Set(ranges.map(rangeText))])
  .nullable()

const rateLimit = z.int().min(1).max(100_000)

const words = {
  name: '1 to 255 characters, to tell keys apart',
  scopes: 'Permissions of `GET /permissions/catalog`, each of which the caller holds; not `*:*`',
  rateLimit: 'Requests per minute, 1 to 100,000',
  ipAllowlist: 'CIDR ranges and addresses that it may be used from; null: anywhere',
  expiresAt: 'RFC 3339; in the future and at most 365 days away',
}

export const CreateApiKey = z
  .strictObject({
    name: label(255).describe(words.name),
    orgId: Id.optional().describe(
      'Narrows the key to this organization. Needed of users of selected organizations; a member of an organization makes keys for it alone',
    ),
    scopes: Scopes.describe(words.scopes),
    expiresAt: Moment.optional().describe(`${words.expiresAt}. 90 days from now when left out`),
    rateLimit: rateLimit.default(600).describe(words.rateLimit),
    ipAllowlist: IpAllowlist.default(null).describe(words.ipAllowlist),
  })
  .meta({
    id: 'CreateApiKey',
    examples: [
      { name: 'Inventory export', scopes: ['devices:read', 'sites:read'], ipAllowlist: ['192.0.2.0/24'] },
    ],
  })
export type CreateApiKey = z.output<typeof CreateApiKey>

export const UpdateApiKey = z
  .strictObject({
    name: label(255).optional().describe(words.name),
    scopes: Scopes.optional().describe(words.scopes),
    expiresAt: Moment.optional().describe(words.expiresAt),
    rateLimit: rateLimit.optional().describe(words.rateLimit),
    ipAllowlist: IpAllowlist.optional().describe(words.ipAllowlist),
  })
  .refine(...notEmpty)
  .meta({ id: 'UpdateApiKey', examples: [{ rateLimit: 60 }] })
export type UpdateApiKey = z.output<typeof UpdateApiKey>
