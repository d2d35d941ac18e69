import { z } from 'zod'
import { issueText } from './issue-text.ts'

/** A bad value is shown, but not at any length. */
const shownCharacters = 40

/** A whole number in a query: digits alone, at most nine of them. The document says `integer`, as a reader means it. */
export const wholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum))
    .meta({ type: 'integer', minimum, maximum, pattern: undefined })

/** A switch in a query. Its name alone, as in `?includeTotal`, turns it on. */
export const flag = z
  .stringbool({ truthy: ['true', '1', ''], falsy: ['false', '0'], error: 'must be true or false' })
  .meta({ type: 'boolean' })

/** Comma-separated values in a query, at least one and at most `most`. What is wrong with one of them names it. */
export const csv = <T>(item: z.ZodType<T, string>, most = 500) =>
  z.string().transform((text, check): T[] => {
    const parts = text.split(',')
    const refuse = (message: string) => check.issues.push({ code: 'custom', input: text, message })
    if (parts.length > most) {
      refuse(`must have at most ${most} items`)
      return z.NEVER
    }
    return parts.flatMap((part) => {
      const parsed = item.safeParse(part, { error: issueText })
      if (parsed.success) return [parsed.data]
      for (const { message } of parsed.error.issues) refuse(`${shown(part)} ${message}`)
      return []
    })
  })

const shown = (text: string) =>
  JSON.stringify(text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text)
