import type { Permission } from '../../../src/kernel/permissions.ts'
import type { TestApp } from '../app.ts'
import type { Org } from '../make.ts'
import type { Person } from '../people.ts'
import { Browser } from './browser.ts'
import type { Idp } from './idp.ts'

/** Tests reach a provider on loopback. */
export const egressEnv = {
  EGRESS_ALLOW: '127.0.0.0/8',
  EGRESS_HTTP: 'true',
  EGRESS_PORTS: '1024-65535',
} as const

export const redirectUri = 'http://svc.test/api/v1/sso/callback'

/** An organization with a provider, and whoever set it up. */
export interface SsoOrg extends Org {
  admin: Person
  providerId: string
}

/** Organizations, providers and browsers of one test file. */
export function ssoStage(t: TestApp) {
  let addresses = 0
  const browser = (who: string) => new Browser(t, who, `10.9.${addresses >> 8}.${addresses++ & 255}`)

  const create = async (idp: Idp, more: Record<string, unknown> = {}, at?: Org): Promise<SsoOrg> => {
    const org = at ?? (await t.make.org())
    const admin = await t.people.partnerAdmin(org.partnerId)
    const { issuer, clientId, clientSecret } = idp
    const body = { orgId: org.orgId, name: 'Staff', issuer, clientId, clientSecret, ...more }
    const made = await t.request('POST /sso/providers', admin, { body })
    if (made.status !== 201) throw new Error(JSON.stringify(made.body))
    return { ...org, admin, providerId: made.body.id }
  }

  const setStatus = (org: SsoOrg, status: string) =>
    t.request(`POST /sso/providers/${org.providerId}/status`, org.admin, { body: { status } })

  const patch = (org: SsoOrg, body: object) =>
    t.request(`PATCH /sso/providers/${org.providerId}`, org.admin, { body })

  /** A provider that is active and lets staff in, as members of a role. */
  const open = async (
    idp: Idp,
    more: Record<string, unknown> & {
      permissions?: readonly (Permission | '*:*')[]
      forceMfa?: boolean
    } = {},
    at?: Org,
  ): Promise<SsoOrg & { roleId: string }> => {
    const { permissions = ['devices:read'], forceMfa = false, ...settings } = more
    const org = at ?? (await t.make.org())
    const roleId = await t.make.role(org, permissions, { forceMfa })
    const usual = { allowedDomains: 'staff.example', autoProvision: true, defaultRoleId: roleId }
    const made = await create(idp, { ...usual, ...settings }, org)
    const active = await setStatus(made, 'active')
    if (active.status !== 200) throw new Error(JSON.stringify(active.body))
    return { ...made, roleId }
  }

  return { browser, create, open, patch, setStatus }
}
