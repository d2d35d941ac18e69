import { v7 as uuid } from 'uuid'
import type { TestApp } from '../harness/app.ts'

/** Somebody who reads, and what is theirs: all of it bears their mark, and nobody else has as many devices. */
export interface Reader {
  mark: string
  authorization: string
  devices: number
  deviceIds: string[]
  orgId: string
  siteName: string
  /** where they left off in the device list */
  cursor?: string
}

/** Marks of others, too, are found by their form. With hyphens at these places it is in no token, cursor or id. */
export const marks = /mark-\d{4}-kram/g
const markOf = (n: number) => `mark-${String(n).padStart(4, '0')}-kram`

const fewest = 3

/** Of four tenants two are partners, seen whole, and two are organizations of one partner, each seen by its own member. */
function places(tenants: number) {
  const partners = new Map<number, string>()
  return Array.from({ length: tenants }, (_, n) => {
    const alone = n % 4 < 2
    const partner = alone ? n : n - (n % 2)
    const partnerId = partners.get(partner) ?? uuid()
    partners.set(partner, partnerId)
    const kind = alone ? ('partner' as const) : ('organization' as const)
    const [orgId, siteId, userId, roleId, sessionId] = [uuid(), uuid(), uuid(), uuid(), uuid()]
    return { mark: markOf(n), kind, partnerId, orgId, siteId, userId, roleId, sessionId, devices: fewest + n }
  })
}

/** So many tenants with their devices: the first has three, and each other one more than the one before. In a few statements, as it is for many. */
export async function fillIn({ owner, core }: TestApp, tenants: number): Promise<Reader[]> {
  const made = places(tenants)
  const rows = await owner.begin(async (sql) => {
    await sql`
      create temp table tenant on commit drop as select * from jsonb_to_recordset(${JSON.stringify(made)}::text::jsonb) as t (
        mark text, kind text, "partnerId" uuid, "orgId" uuid, "siteId" uuid, "userId" uuid, "roleId" uuid, "sessionId" uuid, devices int)`
    await sql`
      insert into partners (id, name, slug, status) select distinct on ("partnerId") "partnerId", mark || '-partner', mark, 'active'
      from tenant order by "partnerId", mark`
    await sql`
      insert into organizations (id, partner_id, name, slug) select "orgId", "partnerId", mark || '-org', mark from tenant`
    await sql`
      insert into sites (id, partner_id, org_id, name) select "siteId", "partnerId", "orgId", mark || '-site' from tenant`
    await sql`
      insert into users (id, email, name, status, email_verified_at)
      select "userId", mark || '@example.com', mark, 'active', now() from tenant`
    await sql`
      insert into roles (id, partner_id, org_id, scope, name)
      select "roleId", "partnerId", case kind when 'organization' then "orgId" end, kind, mark from tenant`
    await sql`
      insert into role_permissions (role_id, partner_id, org_id, resource, action)
      select id, partner_id, org_id, '*', '*' from roles join tenant on "roleId" = id`
    await sql`
      insert into partner_memberships (partner_id, user_id, role_id, org_access, org_ids)
      select "partnerId", "userId", "roleId", 'all', '{}' from tenant where kind = 'partner'`
    await sql`
      insert into organization_memberships (partner_id, org_id, user_id, role_id)
      select "partnerId", "orgId", "userId", "roleId" from tenant where kind = 'organization'`
    await sql`
      insert into refresh_families (id, user_id, mfa, mfa_at, auth_epoch, expires_at)
      select "sessionId", "userId", true, now(), 1, now() + interval '30 days' from tenant`
    const devices = await sql<{ id: string; orgId: string }[]>`
      insert into devices (id, partner_id, org_id, site_id, hostname, display_name, os_type, lifecycle, connectivity, enrolled_at)
      select gen_random_uuid(), "partnerId", "orgId", "siteId", mark || '-host-' || n, mark || '-name', 'linux', 'active',
        'offline', now() - n * interval '1 minute'
      from tenant, generate_series(1, devices) n returning id, org_id`
    await sql`
      insert into device_presence (device_id, partner_id, org_id) select id, partner_id, org_id from devices`
    return devices
  })
  await owner`analyze`
  const ids = new Map<string, string[]>(made.map(({ orgId }) => [orgId, []]))
  for (const { id, orgId } of rows) ids.get(orgId)?.push(id)
  return Promise.all(
    made.map(async ({ mark, kind, partnerId, orgId, userId, sessionId, devices }) => {
      const membership = kind === 'partner' ? { kind, id: partnerId } : { kind, id: orgId, partnerId }
      const claims = { userId, sessionId, authEpoch: 1, mfa: true, amr: ['pwd'], membership }
      const authorization = `Bearer ${(await core.ports.tokens.issue(claims)).accessToken}`
      return {
        mark,
        authorization,
        devices,
        deviceIds: ids.get(orgId) ?? [],
        orgId,
        siteName: `${mark}-site`,
      }
    }),
  )
}
