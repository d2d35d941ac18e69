import { isStorable, storable } from '../../../../db/array-literal.ts'
import type { VerifiedClaims } from '../../../../adapters/oidc/oidc.ts'
import { asDomain } from '../providers/domains.ts'
import type { AttributeMapping } from '../providers/schema.ts'

/** Somebody as a provider describes them. */
export interface SsoPerson {
  subject: string
  /** as accounts have it: lower case, the domain in ASCII; undefined where what it says is no address */
  email: string | undefined
  /** ASCII, lower case */
  domain: string | undefined
  /** the provider says so literally: `true`, not `"true"` */
  emailVerified: boolean
  name: string
}

const longest = 255
/** RFC 5322's specials but for the dot and `@`, blanks, and what is not printed. */
const unusual = /[\s\p{C}"(),:;<>[\\\]]/u

/** One `@`, and nothing that is another character after normalization: an address has one spelling. */
function readEmail(value: unknown): { email: string; domain: string } | undefined {
  // Before it is read, and after: there are letters that become longer.
  if (typeof value !== 'string' || value.length > longest || !isStorable(value)) return undefined
  const [local = '', domainText = '', ...more] = value.split('@')
  if (local === '' || more.length > 0 || unusual.test(value) || value !== value.normalize('NFKC'))
    return undefined
  const domain = asDomain(domainText)
  const email = `${local.toLowerCase()}@${domain}`
  return domain === undefined || email.length > longest ? undefined : { email, domain }
}

const textOf = (value: unknown): string =>
  typeof value === 'string'
    ? storable(
        value
          .replaceAll(/\p{Cc}/gu, ' ')
          .trim()
          .slice(0, longest),
      )
    : ''

/** Undefined: the provider names nobody that could be told from others. */
export function readPerson(claims: VerifiedClaims, mapping: AttributeMapping): SsoPerson | undefined {
  const { subject, attributes } = claims
  if (subject.length > longest || !isStorable(subject)) return undefined
  const address = readEmail(attributes[mapping.email])
  const parts = [attributes[mapping.firstName], attributes[mapping.lastName]].map(textOf).join(' ').trim()
  return {
    subject,
    email: address?.email,
    domain: address?.domain,
    emailVerified: attributes[mapping.emailVerified] === true,
    name: textOf(attributes[mapping.name]) || parts.slice(0, longest) || (address?.email ?? ''),
  }
}

/** RFC 8176 §2: of its words this alone says that there was more than one factor. */
export const saysMfa = ({ amr }: VerifiedClaims): boolean => amr.includes('mfa')
