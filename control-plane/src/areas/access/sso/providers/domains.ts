import { domainToASCII, domainToUnicode } from 'node:url'

/** RFC 1035 §2.3.1 and RFC 5890: labels of letters, digits and hyphens, at least two of them. */
const domain = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * A domain as it is compared: ASCII and lower case, so that letters that look like others make another domain. Undefined for a text
 * that is none.
 */
export function asDomain(text: string): string | undefined {
  const trimmed = text.trim()
  if (/[^\p{L}\p{M}\p{N}.-]/u.test(trimmed) || trimmed !== trimmed.normalize('NFKC')) return undefined
  const ascii = domainToASCII(trimmed)
  // domainToASCII leaves out and replaces what a browser would, such as a variation selector: only what comes back is taken.
  if (![ascii, domainToUnicode(ascii)].includes(trimmed.toLowerCase())) return undefined
  return domain.test(ascii) ? ascii : undefined
}

/** `a.example, b.example` as a list, each once; undefined where one of them is no domain. */
export function asDomains(text: string): string[] | undefined {
  const parts = text.split(',').filter((part) => part.trim() !== '')
  const domains = parts.map(asDomain)
  if (domains.includes(undefined)) return undefined
  return [...new Set(domains as string[])]
}
