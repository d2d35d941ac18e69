import { randomBytes } from 'node:crypto'
import { longestSlug, slugFrom } from '../../../../kernel/text.ts'

const suffixBytes = 4

/** Of a partner's name; one without a letter or digit of ASCII becomes `partner`. */
export const slugOf = (name: string): string => slugFrom(name) || 'partner'

/** The same with something that no other has. */
export const suffixed = (slug: string): string =>
  `${slug.slice(0, longestSlug - 2 * suffixBytes - 1).replace(/-+$/, '')}-${randomBytes(suffixBytes).toString('hex')}`
