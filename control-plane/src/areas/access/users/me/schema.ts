import { z } from 'zod'
import { notEmpty } from '../../../../kernel/changed.ts'
import { label, text } from '../../../../kernel/text.ts'
import { account, OrgAccess } from '../schema.ts'

/** The caller's own profile, and what this login is for. */
export const Profile = z
  .object({
    ...account,
    scope: z
      .enum(['system', 'partner', 'organization'])
      .describe('What this login is for; `system`: the platform itself'),
    partnerId: z.uuid().nullable(),
    orgId: z.uuid().nullable().describe('The organization; null at the partner’s own level'),
    roleId: z.uuid().nullable(),
    orgAccess: OrgAccess.nullable().describe('In a partner: which of its organizations'),
    orgIds: z.array(z.uuid()).nullable().describe('Those of `selected`'),
    siteIds: z.array(z.uuid()).nullable().describe('In an organization: only these sites; null is all'),
    deviceGroupIds: z
      .array(z.uuid())
      .nullable()
      .describe('In an organization: only these groups; null is all'),
    permissions: z.array(z.string()).describe('`resource:action`; `*:*` is all'),
    platformAdmin: z.boolean(),
  })
  .meta({ id: 'Profile', description: 'Who is asking, as what, and what they may do.' })
export type Profile = z.output<typeof Profile>

/** An image elsewhere: nothing but http(s), which a browser loads and does not run. */
const ImageUrl = text(2_048).pipe(z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }))

export const UpdateProfile = z
  .strictObject({
    name: label(255).describe('1 to 255 characters'),
    avatarUrl: ImageUrl.nullable().describe(
      'An http or https URL of at most 2,048 characters; null removes it',
    ),
  })
  .partial()
  .refine(...notEmpty)
  .meta({
    id: 'UpdateProfile',
    examples: [{ name: 'Kim Lee' }, { avatarUrl: 'https://cdn.example/kim.png' }],
  })
export type UpdateProfile = z.output<typeof UpdateProfile>
