import { randomBytes } from 'node:crypto'
import { makeDeviceToken, tokenHash } from '@svc/proto'
import { v7 } from 'uuid'
import { makeApiKey, prefixOf } from '../../src/kernel/api-key-text.ts'
import type { Database } from '../../src/adapters/postgres.ts'
import type { WorkerDb } from '../../src/kernel/db.ts'
import type { Permission } from '../../src/kernel/permissions.ts'

const usualMapping = {
  email: 'email',
  emailVerified: 'email_verified',
  name: 'name',
  firstName: 'given_name',
  lastName: 'family_name',
}

/** What tells the rows of one maker from all others: in every text that it makes up, and the last eight digits of every id. */
export interface Mark {
  word: string
  tail: string
}

export interface Org {
  partnerId: string
  orgId: string
}
export interface Site extends Org {
  siteId: string
}
export interface Device extends Site {
  id: string
  hostname: string
  token: string
}

/**
 * Rows by SQL, as background work writes them; each call makes a new one.
 *
 * @param owner the superuser's connection, for what no role of the product may write by itself
 * @param mark default: none
 */
export function makeFor(db: WorkerDb, owner: Database, mark: Mark = { word: '', tail: '' }) {
  /** Tells rows of one test from those of another. */
  const unique = () => mark.word + randomBytes(5).toString('hex')
  /** Of version 7 with fewer random bits, where it is marked. */
  const uuid = () => v7().slice(0, 36 - mark.tail.length) + mark.tail

  const partner = async (more: { name?: string; status?: string } = {}): Promise<string> => {
    const id = uuid()
    const { name = `Partner ${unique()}`, status = 'active' } = more
    await db.tx(
      (tx) =>
        tx.run`insert into partners (id, name, slug, status) values (${id}, ${name}, ${`p-${unique()}`}, ${status})`,
    )
    return id
  }

  const org = async (partnerId?: string, more: { name?: string } = {}): Promise<Org> => {
    const owner = partnerId ?? (await partner())
    const orgId = uuid()
    const { name = `Org ${unique()}` } = more
    await db.tx(
      (tx) => tx.run`
      insert into organizations (id, partner_id, name, slug) values (${orgId}, ${owner}, ${name}, ${`o-${unique()}`})`,
    )
    return { partnerId: owner, orgId }
  }

  const site = async (owner?: Org, more: { name?: string } = {}): Promise<Site> => {
    const { partnerId, orgId } = owner ?? (await org())
    const siteId = uuid()
    const { name = `Site ${unique()}` } = more
    await db.tx(
      (tx) => tx.run`
      insert into sites (id, partner_id, org_id, name) values (${siteId}, ${partnerId}, ${orgId}, ${name})`,
    )
    return { partnerId, orgId, siteId }
  }

  const role = async (
    owner: { partnerId: string; orgId?: string },
    permissions: readonly (Permission | '*:*')[],
    more: { parentRoleId?: string; forceMfa?: boolean; name?: string } = {},
  ): Promise<string> => {
    const id = uuid()
    const { partnerId, orgId = null } = owner
    await db.tx(async (tx) => {
      await tx.run`
        insert into roles (id, partner_id, org_id, parent_role_id, scope, name, force_mfa)
        values (${id}, ${partnerId}, ${orgId}, ${more.parentRoleId ?? null}, ${orgId ? 'organization' : 'partner'},
          ${more.name ?? `Role ${unique()}`}, ${more.forceMfa ?? false})`
      for (const permission of permissions) {
        const [resource, action] = permission.split(':')
        await tx.run`
          insert into role_permissions (role_id, partner_id, org_id, resource, action)
          values (${id}, ${partnerId}, ${orgId}, ${resource}, ${action})`
      }
    })
    return id
  }

  const user = async (
    more: { email?: string; status?: string; platformAdmin?: boolean; passwordHash?: string } = {},
  ) => {
    const id = uuid()
    const {
      email = `u-${unique()}@example.com`,
      status = 'active',
      platformAdmin = false,
      passwordHash = null,
    } = more
    await db.tx(
      (tx) => tx.run`
      insert into users (id, email, name, status, platform_admin, password_hash, email_verified_at)
      values (${id}, ${email}, ${`User ${unique()}`}, ${status}, ${platformAdmin}, ${passwordHash},
        ${status === 'invited' ? null : new Date()})`,
    )
    return { id, email }
  }

  const partnerMember = (
    member: { userId: string; partnerId: string; roleId: string },
    access: 'all' | 'none' | readonly string[] = 'all',
  ) => {
    const orgAccess = typeof access === 'string' ? access : 'selected'
    const orgIds = typeof access === 'string' ? [] : [...access]
    return db.tx(
      (tx) => tx.run`
      insert into partner_memberships (partner_id, user_id, role_id, org_access, org_ids)
      values (${member.partnerId}, ${member.userId}, ${member.roleId}, ${orgAccess}, ${orgIds}::uuid[])`,
    )
  }

  const orgMember = (
    member: { userId: string; roleId: string } & Org,
    limits: { siteIds?: string[]; deviceGroupIds?: string[] } = {},
  ) =>
    db.tx(
      (tx) => tx.run`
      insert into organization_memberships (partner_id, org_id, user_id, role_id, site_ids, device_group_ids)
      values (${member.partnerId}, ${member.orgId}, ${member.userId}, ${member.roleId},
        ${limits.siteIds ?? null}::uuid[], ${limits.deviceGroupIds ?? null}::uuid[])`,
    )

  /** An address that is invited, and the token of the link that was mailed to it. `orgId`: to an organization, else to the partner. */
  const invitation = async (
    at: { partnerId: string; orgId?: string | null; roleId: string },
    to?: string,
  ) => {
    const id = uuid()
    const email = to ?? `i-${unique()}@example.com`
    const token = `svcl_${randomBytes(32).toString('base64url')}`
    const orgId = at.orgId ?? null
    await owner`
      insert into invitations (id, partner_id, org_id, email, name, role_id, org_access, token_hash, expires_at, created_at, updated_at)
      values (${id}, ${at.partnerId}, ${orgId}, ${email}, ${`Invited ${unique()}`}, ${at.roleId}, ${orgId === null ? 'all' : null},
        ${tokenHash(token)}, now() + interval '7 days', now(), now())`
    return { id, email, token }
  }

  /** A login of a user: the refresh family that an access token names. */
  const session = async (userId: string, more: { mfaAt?: Date } = {}) => {
    const id = uuid()
    const mfaAt = more.mfaAt ?? null
    await owner`
      insert into refresh_families (id, user_id, mfa, mfa_at, auth_epoch, expires_at)
      select ${id}, u.id, ${mfaAt !== null}, ${mfaAt}, u.auth_epoch, now() + interval '30 days' from users u where u.id = ${userId}`
    return id
  }

  const enrollmentKey = async (
    owner?: Site,
    more: { maxUsage?: number | null; expiresAt?: Date; revoked?: boolean } = {},
  ): Promise<Site & { id: string; key: string }> => {
    const at = owner ?? (await site())
    const id = uuid()
    const key = `svce_${randomBytes(32).toString('base64url')}`
    const { maxUsage = 50, expiresAt = new Date(Date.now() + 7 * 86_400_000), revoked = false } = more
    await db.tx(
      (tx) => tx.run`
      insert into enrollment_keys (id, partner_id, org_id, site_id, name, key_hash, max_usage, expires_at, revoked_at)
      values (${id}, ${at.partnerId}, ${at.orgId}, ${at.siteId}, ${`Key ${unique()}`}, ${tokenHash(key)}, ${maxUsage}, ${expiresAt},
        ${revoked ? new Date() : null})`,
    )
    return { ...at, id, key }
  }

  /** @param owner `memberOrg`: made under the membership in this organization, else under that in the partner */
  const apiKey = async (
    owner: { partnerId: string; orgId?: string; memberOrg?: string; userId?: string },
    more: {
      scopes?: readonly Permission[]
      rateLimit?: number
      ipAllowlist?: string[]
      expiresAt?: Date
      revoked?: boolean
    } = {},
  ): Promise<{ id: string; key: string }> => {
    const id = uuid()
    const key = makeApiKey()
    const userId = owner.userId ?? (await user()).id
    const orgId = owner.memberOrg ?? owner.orgId ?? null
    await db.tx(
      (tx) => tx.run`
      insert into api_keys (id, partner_id, org_id, member_org, name, prefix, key_hash, scopes, rate_limit, ip_allowlist,
        expires_at, revoked_at, created_by)
      values (${id}, ${owner.partnerId}, ${orgId}, ${owner.memberOrg ?? null}, ${`API key ${unique()}`}, ${prefixOf(key)},
        ${tokenHash(key)}, ${[...(more.scopes ?? ['devices:read' as const])]}, ${more.rateLimit ?? 600},
        ${more.ipAllowlist ?? null}::text[], ${more.expiresAt ?? new Date(Date.now() + 90 * 86_400_000)},
        ${more.revoked ? new Date() : null}, ${userId})`,
    )
    return { id, key }
  }

  /** @param more `issuer`: nobody is there by default, and no address leads there */
  const ssoProvider = async (
    owner: Org,
    more: { status?: string; issuer?: string; enforceSso?: boolean; allowedDomains?: string[] } = {},
  ): Promise<string> => {
    const id = uuid()
    const { status = 'inactive', issuer = 'https://127.0.0.1', enforceSso = false } = more
    await db.tx(
      (tx) => tx.run`
      insert into sso_providers (id, partner_id, org_id, name, status, issuer, client_id, client_secret, scopes, attribute_mapping,
        enforce_sso, allowed_domains)
      values (${id}, ${owner.partnerId}, ${owner.orgId}, ${`Provider ${unique()}`}, ${status}, ${issuer}, 'svc', ${Buffer.from('sealed')},
        'openid', ${JSON.stringify(usualMapping)}::text::jsonb, ${enforceSso}, ${more.allowedDomains ?? null}::text[])`,
    )
    return id
  }

  const device = async (
    owner?: Site,
    more: {
      hostname?: string
      osType?: 'windows' | 'macos' | 'linux'
      lifecycle?: string
      connectivity?: 'online' | 'offline'
    } = {},
  ): Promise<Device> => {
    const at = owner ?? (await site())
    const id = uuid()
    const token = makeDeviceToken(id)
    const {
      hostname = `host-${unique()}`,
      osType = 'linux',
      lifecycle = 'active',
      connectivity = 'offline',
    } = more
    await db.tx(async (tx) => {
      await tx.run`
        insert into devices (id, partner_id, org_id, site_id, hostname, os_type, lifecycle, connectivity, enrolled_at, token_sha256)
        values (${id}, ${at.partnerId}, ${at.orgId}, ${at.siteId}, ${hostname}, ${osType}, ${lifecycle}, ${connectivity}, now(),
          ${tokenHash(token)})`
      await tx.run`
        insert into device_presence (device_id, partner_id, org_id) values (${id}, ${at.partnerId}, ${at.orgId})`
    })
    return { ...at, id, hostname, token }
  }

  const group = async (owner: Org, deviceIds: readonly string[] = []) => {
    const id = uuid()
    await db.tx(async (tx) => {
      await tx.run`
        insert into device_groups (id, partner_id, org_id, name) values (${id}, ${owner.partnerId}, ${owner.orgId}, ${`Group ${unique()}`})`
      for (const deviceId of deviceIds) {
        await tx.run`
          insert into device_group_members (group_id, device_id, partner_id, org_id)
          values (${id}, ${deviceId}, ${owner.partnerId}, ${owner.orgId})`
      }
    })
    return id
  }

  /** Somebody did something to a device, in January. */
  const auditEntry = async ({ partnerId, orgId }: Org, deviceId: string) => {
    const id = uuid()
    await owner`
      insert into svc.audit_log (id, at, partner_id, org_id, actor_type, action, resource_type, resource_id, resource_name, result)
      values (${id}, '2026-01-15T12:00:00Z', ${partnerId}, ${orgId}, 'system', 'device.command.send', 'device', ${deviceId}, ${`entry ${unique()}`}, 'success')`
    return id
  }

  /** A review of these members of an organization, each approved by the reviewer, who is another one. */
  const accessReview = async (owner: Org, reviewerId: string, userIds: readonly string[]) => {
    const id = uuid()
    const { partnerId, orgId } = owner
    const itemIds = userIds.map(() => uuid())
    await db.tx(async (tx) => {
      await tx.run`
        insert into access_reviews (id, partner_id, org_id, name, status, reviewer_id, created_by, item_count, created_at, updated_at)
        values (${id}, ${partnerId}, ${orgId}, ${`Review ${unique()}`}, 'in_progress', ${reviewerId}, ${reviewerId},
          ${userIds.length}, now(), now())`
      await tx.run`
        insert into access_review_items (id, partner_id, org_id, review_id, position, user_id, user_name, user_email, member_org,
          member_since, role_id, role_name, permissions, decision, reviewed_at, reviewed_by)
        select i.id, m.partner_id, m.org_id, ${id}::uuid, row_number() over (order by u.id), u.id, u.name, u.email, m.org_id,
          m.created_at, r.id, r.name, '{}', 'approved', now(), ${reviewerId}::uuid
        from unnest(${itemIds}::uuid[], ${[...userIds]}::uuid[]) i (id, user_id)
          join organization_memberships m on m.user_id = i.user_id and m.org_id = ${orgId}
          join users u on u.id = m.user_id join roles r on r.id = m.role_id`
    })
    return { id, itemIds }
  }

  return {
    accessReview,
    partner,
    org,
    site,
    role,
    user,
    partnerMember,
    orgMember,
    invitation,
    session,
    enrollmentKey,
    apiKey,
    ssoProvider,
    device,
    group,
    auditEntry,
  }
}

export type Make = ReturnType<typeof makeFor>
