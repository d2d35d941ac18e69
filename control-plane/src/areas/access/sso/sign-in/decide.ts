import type { LoginError } from './codes.ts'
import type { SsoPerson } from './person.ts'

/** The account that a provider means, as it stands to the provider's organization. */
export interface SsoAccount {
  id: string
  status: 'active' | 'invited' | 'disabled'
  /** by this subject of this provider */
  linked: boolean
  /** another subject of this provider is linked to it */
  otherSubject: boolean
  member: boolean
  /** a partner's user, or the platform's administrator */
  wider: boolean
  /** mail to the address was used */
  proved: boolean
  hasPassword: boolean
}

/** What the organization has said of its provider. */
export interface Admission {
  autoProvision: boolean
  defaultRoleId: string | null
  allowedDomains: readonly string[] | null
}

export type Decision =
  | { kind: 'admit' | 'link'; account: SsoAccount }
  | { kind: 'provision'; email: string; roleId: string }
  | { kind: 'refuse'; code: LoginError; reason: string }

const refuse = (code: LoginError, reason: string): Decision => ({ kind: 'refuse', code, reason })

/**
 * May this person come in, and as whom? A linked account is found by its subject, any other by a verified address. The rules stand in
 * docs/choices.md "Single sign-on", in this order.
 *
 * @param account the linked one, else the one that has the address; undefined: neither is there
 */
export function decide(
  { email, domain, emailVerified }: SsoPerson,
  { autoProvision, defaultRoleId, allowedDomains }: Admission,
  account: SsoAccount | undefined,
): Decision {
  if (email === undefined || domain === undefined) return refuse('sso_email_unverified', 'no e-mail address')
  if (!emailVerified) return refuse('sso_email_unverified', 'the address is not said to be verified')
  if (allowedDomains !== null && !allowedDomains.includes(domain))
    return refuse('domain_not_allowed', 'the domain is not among those allowed')
  if (account) return forAccount(account, allowedDomains)
  if (!autoProvision) return refuse('user_not_found', 'nobody has the address')
  if (defaultRoleId === null) return refuse('default_role_required', 'the provider has no default role')
  return { kind: 'provision', email, roleId: defaultRoleId }
}

function forAccount(account: SsoAccount, allowedDomains: Admission['allowedDomains']): Decision {
  if (account.status === 'disabled') return refuse('no_org_access', 'the account is disabled')
  if (!account.member) return refuse('no_org_access', 'the account is no member of the organization')
  if (account.linked) return { kind: 'admit', account }
  // From here on an address alone says who it is.
  if (account.wider) return refuse('no_org_access', 'the account is more than a member of organizations')
  if (account.otherSubject) return refuse('sso_link_required', 'the account is linked to another subject')
  if (isStrangers(account)) return refuse('no_org_access', 'nobody has proved the address of the account')
  if (allowedDomains === null)
    return refuse('domain_not_allowed', 'accounts are linked by listed domains alone')
  return { kind: 'link', account }
}

/** Somebody typed the address and chose a password, and may be anybody: the membership counts for nobody yet. */
const isStrangers = ({ status, proved, hasPassword }: SsoAccount) =>
  status === 'active' && !proved && hasPassword
