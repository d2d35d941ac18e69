import { z } from 'zod'

/** interface §Permission. The id is made of the pair, so that it is the same everywhere and for good. */
export const Permission = z
  .object({
    id: z.uuid(),
    resource: z.string(),
    action: z.string(),
    description: z.string(),
    enforced: z.boolean().describe('False: it can be assigned and opens nothing yet'),
  })
  .meta({ id: 'Permission', description: 'A right that roles may give.' })
export type Permission = z.output<typeof Permission>
