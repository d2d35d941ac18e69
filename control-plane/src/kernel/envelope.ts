import { z } from 'zod'

/** The position after the last row shown, opaque; null on the last page. */
const NextCursor = z
  .string()
  .nullable()
  .describe('Hand it back as `cursor` for the next page; null on the last')

/** The answer of every generic list: `{data, pagination: {hasMore, cursor}}` (interface §Paging envelopes). */
export const envelopeOf = <I extends z.ZodType>(item: I) =>
  z.object({
    data: z.array(item),
    pagination: z.object({ hasMore: z.boolean(), cursor: NextCursor }),
  })

/** One page in that envelope. @param cursor of the next page, null on the last */
export const envelope = <R>(data: R[], cursor: string | null) => ({
  data,
  pagination: { hasMore: cursor !== null, cursor },
})

/** What a write answers that has nothing else to show. */
export const Done = z.object({ success: z.literal(true) }).meta({ id: 'Done', description: 'It is done.' })
