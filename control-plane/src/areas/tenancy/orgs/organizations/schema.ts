import { z } from 'zod'
import { notEmpty } from '../../../../kernel/changed.ts'
import { Day } from '../../../../kernel/moment.ts'
import { label } from '../../../../kernel/text.ts'
import { SettingsChange, SettingsShown } from '../settings/schema.ts'
import { Slug } from '../slug.ts'

export const OrganizationType = z.enum(['customer', 'internal'])
export const OrganizationStatus = z.enum(['active', 'suspended', 'trial', 'churned', 'offboarding'])

const maxDevices = z.int().min(0).max(2_147_483_647).nullable()

const BillingContact = z.strictObject({
  name: label(255).optional().describe('Who to ask for'),
  email: z.email().max(255).optional().describe('E-mail address'),
  phone: label(50).optional().describe('Telephone number, in any form'),
})

/** A customer of a partner (interface §Tenancy). Contract dates are calendar days, `YYYY-MM-DD`. */
export const Organization = z
  .object({
    id: z.uuid(),
    partnerId: z.uuid(),
    name: z.string(),
    slug: z.string(),
    type: OrganizationType,
    status: OrganizationStatus,
    maxDevices: z.int().nullable().describe('Devices that may be enrolled; null is any number'),
    billingContact: BillingContact.nullable(),
    contractStart: z.string().nullable().describe('`YYYY-MM-DD`'),
    contractEnd: z.string().nullable().describe('`YYYY-MM-DD`, the last day'),
    settings: SettingsShown.describe('What the organization has set itself'),
    inheritedSettings: SettingsShown.describe(
      'What its partner has set for it: this wins, and such a field is locked; but for `defaults`, where the organization’s own win',
    ),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: 'Organization', description: 'A customer of a partner.' })
export type Organization = z.output<typeof Organization>

export const OrganizationFilter = z.strictObject({
  status: OrganizationStatus.optional().describe('Only those in this state'),
  type: OrganizationType.optional().describe('Only those of this type'),
})
export type OrganizationFilter = z.output<typeof OrganizationFilter>

/** `slug` is derived from the name when it is left out. A new organization is `active` or on `trial`, nothing else. */
export const CreateOrganization = z
  .strictObject({
    name: label(255).describe('1 to 255 characters'),
    slug: Slug.optional().describe(
      'Lower-case letters, digits and inner hyphens, at most 100; unique among the partner’s organizations. Made from the name when left out',
    ),
    type: OrganizationType.default('customer').describe('`internal` is the provider’s own'),
    status: z.enum(['active', 'trial']).default('active').describe('What it starts as'),
    maxDevices: maxDevices.default(null).describe('Devices that may be enrolled; null is any number'),
    billingContact: BillingContact.nullable()
      .default(null)
      .describe('Who gets the bills; each part may be left out'),
    contractStart: Day.nullable().default(null).describe('`YYYY-MM-DD`'),
    contractEnd: Day.nullable()
      .default(null)
      .describe('`YYYY-MM-DD`, the last day; not before `contractStart`'),
  })
  .refine((org) => !org.contractStart || !org.contractEnd || org.contractStart <= org.contractEnd, {
    path: ['contractEnd'],
    message: 'must not be before contractStart',
  })
  .meta({
    id: 'CreateOrganization',
    examples: [
      { name: 'Acme Corp.', maxDevices: 250, contractStart: '2026-01-01', contractEnd: '2026-12-31' },
    ],
  })
export type CreateOrganization = z.output<typeof CreateOrganization>

/** What is left out stays. What is the provider's to decide is refused to members of the organization. */
export const UpdateOrganization = z
  .strictObject({
    name: label(255).optional().describe('1 to 255 characters'),
    slug: Slug.optional().describe('Unique among the partner’s organizations; the partner’s to decide'),
    type: OrganizationType.optional().describe('The partner’s to decide'),
    status: z
      .enum(['active', 'trial', 'suspended'])
      .optional()
      .describe('`suspended`: its users and devices are refused until it is not. The partner’s to decide'),
    maxDevices: maxDevices
      .optional()
      .describe('Devices that may be enrolled; null is any number. The partner’s to decide'),
    billingContact: BillingContact.nullable().optional().describe('Who gets the bills; null: nobody'),
    contractStart: Day.nullable().optional().describe('`YYYY-MM-DD`; the partner’s to decide'),
    contractEnd: Day.nullable().optional().describe('`YYYY-MM-DD`, the last day; the partner’s to decide'),
    settings: SettingsChange.optional().describe('The fields that are to change'),
  })
  .refine(...notEmpty)
  .meta({
    id: 'UpdateOrganization',
    examples: [{ maxDevices: 500, settings: { language: 'fr-FR', security: { requireMfa: true } } }],
  })
export type UpdateOrganization = z.output<typeof UpdateOrganization>
