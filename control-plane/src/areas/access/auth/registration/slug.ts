import { randomBytes } from 'node:crypto'

const longest = 100
const suffixBytes = 4

/** `Acme Corp.` → `acme-corp`; a name without a letter or digit of ASCII becomes `partner`. */
export const slugOf = (name: string): string =>
  name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, longest)
    .replaceAll(/^-+|-+$/g, '') || 'partner'

/** The same with something that no other has. */
export const suffixed = (slug: string): string =>
  `${slug.slice(0, longest - 2 * suffixBytes - 1).replace(/-+$/, '')}-${randomBytes(suffixBytes).toString('hex')}`
