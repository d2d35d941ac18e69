import { z } from 'zod'
import { isStorable } from '../db/array-literal.ts'

/** Of a text that Postgres cannot keep as it is. */
export const unstorableText = 'must not hold a NUL character or half a surrogate pair'

/** Text that is kept as it came, at most `max` characters. */
export const text = (max: number) => z.string().max(max).refine(isStorable, unstorableText)

/** A name: trimmed, not empty, at most `max` characters. */
export const label = (max: number) => z.string().trim().min(1).max(max).refine(isStorable, unstorableText)

/** A slug is at most this long. */
export const longestSlug = 100

/** `Acme Corp.` → `acme-corp`; empty for a name without a letter or digit of ASCII. */
export const slugFrom = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, longestSlug)
    .replaceAll(/^-+|-+$/g, '')
