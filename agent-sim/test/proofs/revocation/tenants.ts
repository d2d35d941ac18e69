import type { CloseReason } from '@svc/proto'
import type { Site } from '../../../../control-plane/test/harness/make.ts'
import type { Api } from '../../system/harness/api.ts'
import { type Crowd, startCrowd } from '../../system/harness/crowd.ts'
import type { System } from '../../system/harness/system.ts'
import { asUser, done, enrolling, withKey } from './ask.ts'
import type { Office } from './office.ts'
import type { Asking } from './requests.ts'

/** An organization with everything that acts in its name. */
export interface Tenant extends Site {
  name: string
  crowd: Crowd
  enrollmentKey: string
  apiKey: string
}

/** Of each transport as many. */
const everyTransport = { websocket: 1, mqtt: 1, 'mqtt-ws': 1 }

/** An organization of the partner, with agents of each transport at these gateways. */
export async function tenantAt(
  system: System,
  { make, memberOf }: Office,
  {
    partnerId,
    name,
    agents,
    gateways,
  }: { partnerId: string; name: string; agents: number; gateways: string[] },
): Promise<Tenant> {
  const site = await make.site(await make.org(partnerId, { name }))
  const { key: enrollmentKey } = await make.enrollmentKey(site, { maxUsage: null })
  const owner = await memberOf(site)
  const apiKey = await make.apiKey({ ...site, memberOrg: site.orgId, userId: owner.userId })
  const crowd = await startCrowd(system, {
    agents,
    name,
    transports: everyTransport,
    enrollmentKey,
    gateways,
  })
  return { ...site, name, crowd, enrollmentKey, apiKey: apiKey.key }
}

/** What is asked in a tenant's name, and refused with it. */
export async function requestsOf({ memberOf }: Office, tenant: Tenant): Promise<Asking[]> {
  const { name } = tenant
  return [
    await asUser(`a user of ${name}`, await memberOf(tenant), 401),
    withKey(`an API key of ${name}`, tenant.apiKey),
    enrolling(`an enrollment key of ${name}`, tenant.enrollmentKey),
  ]
}

/** How a whole tenant is revoked. */
export interface Blow {
  reason: CloseReason
  /** the tenant is the only one of its partner, which is what is revoked */
  partner: boolean
  /** people and keys go on */
  devicesAlone?: true
  act: (admins: Administrators, tenant: Tenant) => Promise<void>
  /** absent: it is for good */
  undo?: (admins: Administrators, tenant: Tenant) => Promise<void>
}

export interface Administrators {
  partner: Api
  platform: Api
}

const organization = ({ partner }: Administrators, { orgId }: Tenant, status: string) =>
  done(partner, 'PATCH', `/orgs/organizations/${orgId}`, { status })
const wholePartner = ({ platform }: Administrators, { partnerId }: Tenant, status: string) =>
  done(platform, 'PATCH', `/orgs/partners/${partnerId}`, { status })

export const blows = {
  'an organization is suspended': {
    reason: 'QUARANTINED',
    partner: false,
    act: (admins, tenant) => organization(admins, tenant, 'suspended'),
    undo: (admins, tenant) => organization(admins, tenant, 'active'),
  },
  'an organization is deleted': {
    reason: 'DECOMMISSIONED',
    partner: false,
    act: ({ partner }, { orgId }) => done(partner, 'DELETE', `/orgs/organizations/${orgId}`),
  },
  'a partner is suspended': {
    reason: 'QUARANTINED',
    partner: true,
    act: (admins, tenant) => wholePartner(admins, tenant, 'suspended'),
    undo: (admins, tenant) => wholePartner(admins, tenant, 'active'),
  },
  'a partner is deleted': {
    reason: 'DECOMMISSIONED',
    partner: true,
    act: ({ platform }, { partnerId }) => done(platform, 'DELETE', `/orgs/partners/${partnerId}`),
  },
  'devices are decommissioned': {
    reason: 'DECOMMISSIONED',
    partner: false,
    devicesAlone: true,
    act: async ({ partner }, { crowd }) => {
      await Promise.all(crowd.ids.map((id) => done(partner, 'DELETE', `/devices/${id}`)))
    },
  },
} satisfies Record<string, Blow>
