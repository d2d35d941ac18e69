import { z } from 'zod'

/** What a schedule adds to the payload of its task, under `schedule`: which of its moments this is. Each comes at most once, as one job. */
export const Occasion = z.object({
  id: z.uuid(),
  partnerId: z.uuid(),
  orgId: z.uuid().nullable(),
  dueAt: z.iso.datetime(),
})
export type Occasion = z.output<typeof Occasion>
