import type { Db } from '../../../../kernel/tenancy.ts'
import type { AttributeMapping, ProviderMetadata } from '../providers/schema.ts'
import type { TakeOutcome } from './schema.ts'

/** What a provider is to a login. */
export interface ProviderAtWork {
  id: string
  partnerId: string
  orgId: string
  issuer: string
  clientId: string
  /** sealed */
  clientSecret: Buffer
  scopes: string
  metadata: ProviderMetadata | null
  discoveredAt: Date | null
  configVersion: number
}

export interface ActiveProvider extends ProviderAtWork {
  name: string
  type: 'oidc'
  enforceSso: boolean
}

/** The provider that serves an organization's logins. */
export const findActiveProvider = (db: Db, orgId: string) => db.one<ActiveProvider>`
  select * from sso_provider_of(${orgId})`

export const noteMetadata = (
  db: Db,
  { id, configVersion }: ProviderAtWork,
  metadata: ProviderMetadata,
  at: Date,
) =>
  db.one`select note_sso_metadata(${id}, ${configVersion}, ${JSON.stringify(metadata)}::text::jsonb, ${at})`

export interface NewLogin {
  id: string
  stateHash: Buffer
  browserHash: Buffer
  sealed: Buffer
  until: Date
}

export const beginLogin = (db: Db, { id, configVersion }: ProviderAtWork, login: NewLogin) => db.one`
  select begin_sso_login(${login.id}, ${id}, ${configVersion}, ${login.stateHash}, ${login.browserHash}, ${login.sealed}, ${login.until})`

/** A login that a browser brought back; all but `outcome`, and whose it is, counts only where it is `taken`. */
export interface TakenLogin extends Omit<ProviderAtWork, 'id'> {
  outcome: TakeOutcome
  id: string
  sealed: Buffer
  /** null with the next two: the provider is not there any more */
  providerId: string | null
  attributeMapping: AttributeMapping
  trustsIdpMfa: boolean
}

/** Uses the login up, for exactly one of any number of callers. Nothing comes back for a state that is unknown or used. */
export const takeLogin = (db: Db, stateHash: Buffer, browserHash: Buffer, at: Date) => db.one<TakenLogin>`
  select * from take_sso_login(${stateHash}, ${browserHash}, ${at})`

/** What an organization says of its provider, while somebody who comes from it is let in. */
export interface HeldProvider {
  configVersion: number
  autoProvision: boolean
  defaultRoleId: string | null
  allowedDomains: string[] | null
  trustsIdpMfa: boolean
}

/** Held until the transaction ends: whoever changes it or ends its logins waits, or was before. Nothing: it is gone. */
export const holdProvider = (db: Db, id: string) => db.one<HeldProvider>`
  select p.config_version, p.auto_provision, p.default_role_id, p.allowed_domains, p.trusts_idp_mfa from sso_providers p
  where ${db.visible('p')} and ${db.living('p')} and p.id = ${id} for share of p`

/** The account that a provider means; the columns are those of the function of this name. */
export interface AccountRow {
  id: string
  email: string
  status: 'active' | 'invited' | 'disabled'
  linked: boolean
  otherSubject: boolean
  member: boolean
  wider: boolean
  proved: boolean
  hasPassword: boolean
}

/** Logins of this subject and this address come one after the other until the transaction ends. */
export const findAccount = (db: Db, providerId: string, subject: string, email: string) => db.one<AccountRow>`
  select id, email, status, linked, other_subject, member, wider, proved, has_password
  from sso_account(${providerId}, ${subject}, ${email})`

export interface Identity {
  id: string
  partnerId: string
  orgId: string
  providerId: string
  subject: string
  userId: string
  email: string
  at: Date
}

/** None: the subject is linked already. */
export const insertIdentity = (db: Db, i: Identity) => db.run`
  insert into sso_identities (id, partner_id, org_id, provider_id, subject, user_id, email, created_at, last_login_at)
  values (${i.id}, ${i.partnerId}, ${i.orgId}, ${i.providerId}, ${i.subject}, ${i.userId}, ${i.email}, ${i.at}, ${i.at})
  on conflict (provider_id, subject) do nothing`

export const touchIdentity = (db: Db, i: Pick<Identity, 'providerId' | 'subject' | 'email' | 'at'>) => db.run`
  update sso_identities i set email = ${i.email}, last_login_at = ${i.at}
  where ${db.visible('i')} and i.provider_id = ${i.providerId} and i.subject = ${i.subject}`

/** Of an account that an invitation emptied: whoever it was to the provider before is not who comes now. */
export const forgetOtherSubjects = (
  db: Db,
  { providerId, userId, subject }: Pick<Identity, 'providerId' | 'userId' | 'subject'>,
) => db.run`
  delete from sso_identities i
  where ${db.visible('i')} and i.provider_id = ${providerId} and i.user_id = ${userId} and i.subject <> ${subject}`

/** What an invitation became. */
export interface AcceptedInvitation {
  userId: string
  invitationId: string
  roleId: string
}

/** Nothing comes back where nobody is invited, or the account is somebody's, or of another tenant too: that takes its link. */
export const acceptInvitation = (db: Db, providerId: string, freshId: string, email: string, at: Date) =>
  db.one<AcceptedInvitation>`select * from accept_sso_invitation(${providerId}, ${freshId}, ${email}, ${at})`

/** False: somebody has the address. */
export const provisionAccount = async (
  db: Db,
  account: { id: string; email: string; name: string },
  at: Date,
): Promise<boolean> =>
  (
    await db.one<{
      done: boolean
    }>`select provision_sso_account(${account.id}, ${account.email}, ${account.name}, ${at}) as done`
  )?.done === true

export const insertMember = (
  db: Db,
  member: { partnerId: string; orgId: string; userId: string; roleId: string },
) => db.run`
  insert into organization_memberships (partner_id, org_id, user_id, role_id)
  values (${member.partnerId}, ${member.orgId}, ${member.userId}, ${member.roleId})`

export interface NewCode {
  codeHash: Buffer
  userId: string
  providerId: string
  browserHash: Buffer
  mfa: boolean
  mfaAt: Date | null
  until: Date
}

export const issueCode = (db: Db, code: NewCode) => db.one`
  select issue_sso_code(${code.codeHash}, ${code.userId}, ${code.providerId}, ${code.browserHash}, ${code.mfa}, ${code.mfaAt}, ${code.until})`

/** Whose a code was: a member of the provider's organization, who may log in there. */
export interface CodeHolder {
  id: string
  email: string
  name: string
  avatarUrl: string | null
  authEpoch: number
  mfaMethod: 'totp' | 'sms' | null
  partnerId: string
  orgId: string
  providerId: string
  mfa: boolean
  mfaAt: Date | null
}

/** Uses a code up, for exactly one of any number of callers. */
export const useCode = (db: Db, codeHash: Buffer, browserHash: Buffer, at: Date) => db.one<CodeHolder>`
  select * from use_sso_code(${codeHash}, ${browserHash}, ${at})`
