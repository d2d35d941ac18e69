import { z } from 'zod'
import { Id } from '../../../../kernel/id.ts'
import { notEmpty } from '../../../../kernel/changed.ts'
import { label } from '../../../../kernel/text.ts'
import { TimeZone } from '../time-zone.ts'

export const Address = z.strictObject({
  street: label(255).optional().describe('Street and number'),
  city: label(255).optional().describe('City'),
  region: label(255).optional().describe('State, province or county'),
  postal: label(32).optional().describe('Postal code'),
  country: label(255).optional().describe('Country'),
})

export const Contact = z.strictObject({
  name: label(255).optional().describe('Who to ask for'),
  email: z.email().max(255).optional().describe('E-mail address'),
  phone: label(50).optional().describe('Telephone number, in any form'),
})

/** A place of an organization (interface §Tenancy). Its name is unique there, whatever the case. */
export const Site = z
  .object({
    id: z.uuid(),
    orgId: z.uuid(),
    name: z.string(),
    timezone: z.string(),
    address: Address.nullable(),
    contact: Contact.nullable(),
    createdAt: z.date(),
    updatedAt: z.date(),
  })
  .meta({
    id: 'Site',
    description: 'A place of an organization. Its name is unique there, whatever the case.',
  })
export type Site = z.output<typeof Site>

export const SiteFilter = z.strictObject({
  orgId: Id.optional().describe('Only sites of this organization'),
})
export type SiteFilter = z.output<typeof SiteFilter>

export const CreateSite = z
  .strictObject({
    orgId: Id.describe('The organization that the site belongs to'),
    name: label(255).describe('1 to 255 characters; unique in the organization, whatever the case'),
    timezone: TimeZone.default('UTC').describe('IANA time zone such as `Europe/Paris`; `UTC` when left out'),
    address: Address.nullable().default(null).describe('Where it is; each part may be left out'),
    contact: Contact.nullable().default(null).describe('Whom to call there; each part may be left out'),
  })
  .meta({
    id: 'CreateSite',
    examples: [
      {
        orgId: '0195d0a0-7c11-7000-8000-000000000001',
        name: 'Head office',
        timezone: 'Europe/Paris',
        address: { street: '1 Rue de Rivoli', city: 'Paris', postal: '75001', country: 'France' },
        contact: { name: 'Front desk', email: 'desk@customer.example' },
      },
    ],
  })
export type CreateSite = z.output<typeof CreateSite>

/** What is left out stays; an address or a contact is replaced as a whole. */
export const UpdateSite = z
  .strictObject({
    name: label(255)
      .optional()
      .describe('1 to 255 characters; unique in the organization, whatever the case'),
    timezone: TimeZone.optional().describe('IANA time zone such as `Europe/Paris`'),
    address: Address.nullable().optional().describe('Where it is; null: not known'),
    contact: Contact.nullable().optional().describe('Whom to call there; null: nobody'),
  })
  .refine(...notEmpty)
  .meta({ id: 'UpdateSite', examples: [{ name: 'Head office, second floor' }] })
export type UpdateSite = z.output<typeof UpdateSite>
