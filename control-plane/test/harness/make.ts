import { randomBytes } from 'node:crypto'
import { makeDeviceToken, tokenHash } from '@svc/proto'
import { v7 as uuid } from 'uuid'
import { makeApiKey, prefixOf } from '../../src/kernel/api-key-text.ts'
import type { Database } from '../../src/adapters/postgres.ts'
import type { WorkerDb } from '../../src/kernel/db.ts'
import type { Permission } from '../../src/kernel/permissions.ts'

/** Tells rows of one test from those of another. */
const unique = () => randomBytes(5).toString('hex')

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
 */
export function makeFor(db: WorkerDb, owner: Database) {
  const partner = async (more: { name?: string; status?: string } = {}): Promise<string> => {
    const id = uuid()
    const { name = `Partner ${id.slice(-6)}`, status = 'active' } = more
    await db.tx(
      (tx) =>
        tx.run`insert into partners (id, name, slug, status) values (${id}, ${name}, ${`p-${unique()}`}, ${status})`,
    )
    return id
  }

  const org = async (partnerId?: string, more: { name?: string } = {}): Promise<Org> => {
    const owner = partnerId ?? (await partner())
    const orgId = uuid()
    const { name = `Org ${orgId.slice(-6)}` } = more
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
      values (${id}, ${email}, ${`User ${id.slice(-6)}`}, ${status}, ${platformAdmin}, ${passwordHash},
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

  return {
    partner,
    org,
    site,
    role,
    user,
    partnerMember,
    orgMember,
    session,
    enrollmentKey,
    apiKey,
    device,
    group,
  }
}

export type Make = ReturnType<typeof makeFor>
