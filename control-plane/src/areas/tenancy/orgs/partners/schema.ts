import { z } from 'zod'
import { notEmpty } from '../../../../kernel/changed.ts'
import { label } from '../../../../kernel/text.ts'
import { SettingsChange, SettingsShown } from '../settings/schema.ts'
import { Slug } from '../slug.ts'

export const PartnerStatus = z.enum(['pending', 'active', 'suspended', 'offboarding', 'churned'])

/** A provider (interface §Tenancy): the top of everything that is one tenant's. */
export const Partner = z
  .object({
    id: z.uuid(),
    name: z.string(),
    slug: z.string(),
    status: PartnerStatus,
    maxOrganizations: z.int().nullable().describe('Organizations that it may have; null is any number'),
    maxDevices: z.int().nullable().describe('Devices that it may have enrolled in all; null is any number'),
    settings: SettingsShown.describe(
      'What it has set. But for `contact`, `address` and `defaults` it holds in all of its organizations and is locked there',
    ),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({ id: 'Partner', description: 'A provider, with organizations that are its customers.' })
export type Partner = z.output<typeof Partner>

export const PartnerFilter = z.strictObject({
  status: PartnerStatus.optional().describe('Only those in this state'),
})
export type PartnerFilter = z.output<typeof PartnerFilter>

const limit = z.int().min(0).max(2_147_483_647).nullable()
const words = {
  name: '1 to 255 characters',
  slug: 'Lower-case letters, digits and inner hyphens, at most 100; no two partners have the same',
  maxOrganizations: 'Organizations that it may have; null is any number',
  maxDevices: 'Devices that it may have enrolled in all; null is any number',
}

export const CreatePartner = z
  .strictObject({
    name: label(255).describe(words.name),
    slug: Slug.optional().describe(`${words.slug}. Made from the name when left out`),
    maxOrganizations: limit.default(null).describe(words.maxOrganizations),
    maxDevices: limit.default(null).describe(words.maxDevices),
    settings: SettingsChange.default({}).describe('What is set from the beginning'),
  })
  .meta({ id: 'CreatePartner', examples: [{ name: 'Northwind Services', maxDevices: 5_000 }] })
export type CreatePartner = z.output<typeof CreatePartner>

/** What a partner may change of itself. */
export const UpdateOwnPartner = z
  .strictObject({
    name: label(255).optional().describe(words.name),
    settings: SettingsChange.optional().describe('The fields that are to change'),
  })
  .refine(...notEmpty)
  .meta({ id: 'UpdateOwnPartner', examples: [{ settings: { security: { requireMfa: true } } }] })
export type UpdateOwnPartner = z.output<typeof UpdateOwnPartner>

export const UpdatePartner = z
  .strictObject({
    name: label(255).optional().describe(words.name),
    slug: Slug.optional().describe(words.slug),
    status: z
      .enum(['pending', 'active', 'suspended'])
      .optional()
      .describe('`suspended`: all of its users and devices are refused until it is not'),
    maxOrganizations: limit.optional().describe(words.maxOrganizations),
    maxDevices: limit.optional().describe(words.maxDevices),
    settings: SettingsChange.optional().describe('The fields that are to change'),
  })
  .refine(...notEmpty)
  .meta({ id: 'UpdatePartner', examples: [{ status: 'suspended' }] })
export type UpdatePartner = z.output<typeof UpdatePartner>
