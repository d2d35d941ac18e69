import { z } from 'zod'
import { Id } from '../../../kernel/id.ts'
import { label } from '../../../kernel/text.ts'

export const KeyState = z.enum(['usable', 'expired', 'exhausted', 'revoked'])

/** Lets agents enroll into one site. `maxUsage` null is unlimited. The key itself is not kept, so it is never in here. */
export const EnrollmentKey = z
  .object({
    id: z.uuid(),
    orgId: z.uuid(),
    siteId: z.uuid(),
    name: z.string(),
    maxUsage: z.int().nullable().describe('Devices that it may enroll; null is any number'),
    usageCount: z.int().describe('Devices that it has enrolled'),
    state: KeyState,
    expiresAt: z.date(),
    revokedAt: z.date().nullable(),
    createdBy: z.uuid().nullable().describe('The user; null when an API key made it'),
    createdAt: z.date(),
  })
  .meta({
    id: 'EnrollmentKey',
    description: 'Lets agents enroll into one site. The key itself is not kept, so it is not in here.',
  })
export type EnrollmentKey = z.output<typeof EnrollmentKey>

/** The answer to creation and rotation: the only time a key is shown. */
export const NewEnrollmentKey = EnrollmentKey.extend({
  key: z.string().describe('What agents enroll with; shown this once'),
}).meta({ id: 'NewEnrollmentKey', description: 'An enrollment key, and the only answer that ever shows it.' })
export type NewEnrollmentKey = z.output<typeof NewEnrollmentKey>

export const EnrollmentKeyFilter = z.strictObject({
  orgId: Id.optional().describe('Only keys of this organization'),
  siteId: Id.optional().describe('Only keys of this site'),
  state: KeyState.optional().describe('Only keys in this state'),
})
export type EnrollmentKeyFilter = z.output<typeof EnrollmentKeyFilter>

const maxUsage = z.int().min(1).max(100_000).nullable()

/** `expiresAt` is RFC 3339; left out, the key lives 7 days. */
export const CreateEnrollmentKey = z
  .strictObject({
    name: label(255).describe('1 to 255 characters, to tell keys apart'),
    orgId: Id.describe('The organization of the site'),
    siteId: Id.describe('The site that devices enroll into'),
    maxUsage: maxUsage
      .optional()
      .describe(
        'Devices that it may enroll, 1 to 100,000; null is any number. 50, or what the settings say, when left out',
      ),
    expiresAt: z.iso
      .datetime({ offset: true })
      .optional()
      .describe(
        'RFC 3339; in the future and at most 365 days away, or as many minutes as the settings say. 7 days from now, or what the settings say, when left out',
      ),
  })
  .meta({
    id: 'CreateEnrollmentKey',
    examples: [
      {
        name: 'Roll-out of March',
        orgId: '0195d0a0-7c11-7000-8000-000000000001',
        siteId: '0195d0a0-7c11-7000-8000-000000000002',
        maxUsage: 200,
      },
    ],
  })
export type CreateEnrollmentKey = z.output<typeof CreateEnrollmentKey>

export const RotateEnrollmentKey = z
  .strictObject({
    maxUsage: maxUsage
      .optional()
      .describe(
        'Devices that it may enroll from now on, 1 to 100,000; null is any number. As before when left out',
      ),
    expiresAt: z.iso
      .datetime({ offset: true })
      .optional()
      .describe(
        'RFC 3339; in the future and at most 365 days away. As before when left out, or 7 days from now where that is past',
      ),
  })
  .meta({ id: 'RotateEnrollmentKey', examples: [{ maxUsage: 100 }, {}] })
  .optional()
export type RotateEnrollmentKey = z.output<typeof RotateEnrollmentKey>
