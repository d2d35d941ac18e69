import { z } from 'zod'
import { label } from '../../../../kernel/text.ts'
import { TimeZone } from '../time-zone.ts'

type Fields = { [name: string]: z.ZodType | Fields }

const colour = z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #1f6feb')
const link = z.url({ protocol: /^https$/, hostname: z.regexes.domain }).max(2_048)
const minutes = z.int().min(1).max(525_600)

/**
 * Every setting of partners and organizations, by category (docs/choices.md, "Settings"). What nothing acts upon is not here: a
 * setting that is taken and not kept is a promise.
 */
const fields = {
  timezone: TimeZone.describe('IANA time zone'),
  dateFormat: z.enum(['MM/DD/YYYY', 'DD/MM/YYYY', 'YYYY-MM-DD']).describe('How clients show dates'),
  timeFormat: z.enum(['12h', '24h']).describe('How clients show times'),
  language: z
    .enum(['en', 'pt-BR', 'es-419', 'fr-FR', 'fr-CA', 'de-DE', 'it-IT', 'tr-TR'])
    .describe('Language of clients and mails'),
  contact: {
    name: label(255).describe('Who to ask for'),
    email: z.email().max(255).describe('E-mail address'),
    phone: label(50).describe('Telephone number, in any form'),
    website: link.describe('`https` address'),
  },
  address: {
    street1: label(255).describe('Street and number'),
    street2: label(255).describe('Second line'),
    city: label(255).describe('City'),
    region: label(255).describe('State, province or county'),
    postalCode: label(32).describe('Postal code'),
    country: label(255).describe('Country'),
  },
  security: {
    minLength: z.int().min(8).max(128).describe('Fewest characters of a password, 8 to 128'),
    requireMfa: z.boolean().describe('Nobody may turn their second factor off'),
    allowedMfaMethods: { sms: z.boolean().describe('false: no second factor by text message') },
  },
  branding: {
    logoUrl: link.describe('`https` address of the logo that clients show'),
    primaryColor: colour.describe('`#rrggbb`'),
    secondaryColor: colour.describe('`#rrggbb`'),
    theme: z.enum(['light', 'dark', 'system']).describe('How clients look'),
  },
  defaults: {
    defaultEnrollmentTtlMinutes: minutes.describe('Life of a new enrollment key that is given none'),
    defaultEnrollmentDeviceCount: z
      .int()
      .min(1)
      .max(100_000)
      .describe('Devices that a new enrollment key enrolls when it is not said'),
    maxEnrollmentLinkTtlMinutes: minutes.describe('Longest life of an enrollment key'),
  },
} satisfies Fields

/** Settings as they are kept and shown: those that are set, as deep as {@link fields}. */
export type Settings = { [name: string]: unknown }

const isField = (entry: z.ZodType | Fields): entry is z.ZodType => entry instanceof z.ZodType

/** What a category is about. */
const categories: Record<string, string> = {
  contact: 'Whom to ask',
  address: 'Where it is',
  security: 'What is demanded of its users',
  allowedMfaMethods: 'Second factors that may be used',
  branding: 'How clients look',
  defaults: 'What a new thing has that is not told otherwise',
}

const objectOf = (group: Fields, leaf: (field: z.ZodType) => z.ZodType): z.ZodObject =>
  z.strictObject(
    Object.fromEntries(
      Object.entries(group).map(([name, entry]) => [
        name,
        isField(entry)
          ? leaf(entry).describe(entry.description ?? name)
          : objectOf(entry, leaf)
              .optional()
              .describe(categories[name] ?? name),
      ]),
    ),
  )

export const SettingsShown: z.ZodType<Settings, Settings> = objectOf(fields, (field) =>
  field.optional(),
).meta({
  id: 'Settings',
  description: 'What is set; whatever is not here is as the system, or the partner, has it.',
})

/** Each field that is given takes the place of the one before; null unsets it; what is left out stays. */
export const SettingsChange: z.ZodType<Settings, Settings> = objectOf(fields, (field) =>
  field.nullable().optional(),
).meta({
  id: 'SettingsChange',
  description: 'Each field that is given takes the place of the one before; null unsets it.',
})
