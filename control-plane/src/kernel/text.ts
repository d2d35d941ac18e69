import { z } from 'zod'
import { isStorable } from '../db/array-literal.ts'

/** Of a text that Postgres cannot keep as it is. */
export const unstorableText = 'must not hold a NUL character or half a surrogate pair'

/** Text that is kept as it came, at most `max` characters. */
export const text = (max: number) => z.string().max(max).refine(isStorable, unstorableText)

/** A name: trimmed, not empty, at most `max` characters. */
export const label = (max: number) => z.string().trim().min(1).max(max).refine(isStorable, unstorableText)
