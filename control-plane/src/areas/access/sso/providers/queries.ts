import type { Page } from '../../../../kernel/page.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import type { AttributeMapping, ProviderFilter, ProviderMetadata, ProviderStatus } from './schema.ts'

/** A provider as it is stored; the secret is not among what the API may read. */
export interface ProviderRow {
  id: string
  partnerId: string
  orgId: string
  name: string
  type: 'oidc'
  status: ProviderStatus
  issuer: string
  clientId: string
  scopes: string
  attributeMapping: AttributeMapping
  metadata: ProviderMetadata | null
  discoveredAt: Date | null
  autoProvision: boolean
  defaultRoleId: string | null
  allowedDomains: string[] | null
  enforceSso: boolean
  trustsIdpMfa: boolean
  configVersion: number
  createdAt: Date
  updatedAt: Date
}

const columns = ({ sql }: Db) => sql`
  p.id, p.partner_id, p.org_id, p.name, p.type, p.status, p.issuer, p.client_id, p.scopes, p.attribute_mapping, p.metadata,
  p.discovered_at, p.auto_provision, p.default_role_id, p.allowed_domains, p.enforce_sso, p.trusts_idp_mfa, p.config_version,
  p.created_at, p.updated_at`

/** Those that the caller sees, and that did not go with their organization. */
const living = (db: Db) => db.sql`${db.visible('p')} and ${db.living('p')}`

export const listProviders = (db: Db, { orgId }: ProviderFilter, page: Page) => db.rows<ProviderRow>`
  select ${columns(db)} from sso_providers p
  where ${living(db)} ${orgId ? db.sql`and p.org_id = ${orgId}` : db.sql``} ${page.after('p')}
  order by p.created_at desc, p.id desc
  limit ${page.take}`

export const findProvider = (db: Db, id: string) => db.one<ProviderRow>`
  select ${columns(db)} from sso_providers p where ${living(db)} and p.id = ${id}`

/** Held until the transaction ends: who logs in through it meanwhile waits, or was before. */
export const lockProvider = (db: Db, id: string) => db.one<ProviderRow>`
  select ${columns(db)} from sso_providers p where ${living(db)} and p.id = ${id} for no key update of p`

export interface NewProvider
  extends Omit<ProviderRow, 'status' | 'configVersion' | 'createdAt' | 'updatedAt'> {
  /** sealed */
  clientSecret: Buffer
  createdBy: string | null
}

export const insertProvider = (db: Db, p: NewProvider) => db.one<ProviderRow>`
  insert into sso_providers as p (id, partner_id, org_id, name, type, issuer, client_id, client_secret, scopes, attribute_mapping,
    metadata, discovered_at, auto_provision, default_role_id, allowed_domains, enforce_sso, trusts_idp_mfa, created_by)
  values (${p.id}, ${p.partnerId}, ${p.orgId}, ${p.name}, ${p.type}, ${p.issuer}, ${p.clientId}, ${p.clientSecret}, ${p.scopes},
    ${JSON.stringify(p.attributeMapping)}::text::jsonb, ${p.metadata && JSON.stringify(p.metadata)}::text::jsonb, ${p.discoveredAt},
    ${p.autoProvision}, ${p.defaultRoleId}, ${p.allowedDomains}::text[], ${p.enforceSso}, ${p.trustsIdpMfa}, ${p.createdBy})
  returning ${columns(db)}`

/** @param secret undefined: as it was */
export const updateProvider = (db: Db, p: ProviderRow, secret: Buffer | undefined) => db.one<ProviderRow>`
  update sso_providers p set name = ${p.name}, status = ${p.status}, issuer = ${p.issuer}, client_id = ${p.clientId}, scopes = ${p.scopes},
    attribute_mapping = ${JSON.stringify(p.attributeMapping)}::text::jsonb, metadata = ${p.metadata && JSON.stringify(p.metadata)}::text::jsonb,
    discovered_at = ${p.discoveredAt}, auto_provision = ${p.autoProvision}, default_role_id = ${p.defaultRoleId},
    allowed_domains = ${p.allowedDomains}::text[], enforce_sso = ${p.enforceSso}, trusts_idp_mfa = ${p.trustsIdpMfa},
    config_version = ${p.configVersion} ${secret ? db.sql`, client_secret = ${secret}` : db.sql``}, updated_at = now()
  where ${db.visible('p')} and p.id = ${p.id}
  returning ${columns(db)}`

export const deleteProvider = (db: Db, id: string) => db.run`
  delete from sso_providers p where ${db.visible('p')} and p.id = ${id}`

export const findOtherActive = (db: Db, { id, orgId }: ProviderRow) => db.one<{ id: string; name: string }>`
  select p.id, p.name from sso_providers p
  where ${db.visible('p')} and p.org_id = ${orgId} and p.status = 'active' and p.id <> ${id}`

/** The roles of those whom an organization's provider could say that somebody is: its members, and who is invited to be one. */
export const listMemberRoles = (db: Db, orgId: string) => db.rows<{ roleId: string }>`
  select m.role_id from organization_memberships m where ${db.visible('m')} and m.org_id = ${orgId}
  union
  select i.role_id from invitations i where ${db.visible('i')} and i.org_id = ${orgId} and i.status = 'invited'`

export const deleteIdentities = (db: Db, providerId: string) => db.run`
  delete from sso_identities i where ${db.visible('i')} and i.provider_id = ${providerId}`

export const endSsoSessions = async (db: Db, providerId: string, reason: string, at: Date): Promise<number> =>
  (await db.one<{ ended: number }>`select end_sso_sessions(${providerId}, ${reason}, ${at}) as ended`)
    ?.ended ?? 0

export const endPasswordSessions = async (db: Db, orgId: string, reason: string, at: Date): Promise<number> =>
  (await db.one<{ ended: number }>`select end_password_sessions(${orgId}, ${reason}, ${at}) as ended`)
    ?.ended ?? 0
