import type { Permission } from '../../../../kernel/permissions.ts'
import { allPermissions, type Right } from '../../../../kernel/rights.ts'

/** A role that a tenant is born with. Nobody can change it; who wants another clones it. */
export interface BuiltIn {
  name: string
  description: string
  rights: readonly Right[]
  forceMfa?: true
}

const readers: readonly Permission[] = [
  'organizations:read',
  'sites:read',
  'devices:read',
  'scripts:read',
  'alerts:read',
  'automations:read',
  'patches:read',
  'security:read',
  'software:read',
  'monitoring:read',
  'policies:read',
  'maintenance:read',
  'reports:read',
]

const technicians: readonly Permission[] = [
  ...readers,
  'devices:write',
  'devices:execute',
  'scripts:execute',
  'alerts:acknowledge',
  'patches:execute',
  'security:execute',
  'software:execute',
  'monitoring:execute',
  'maintenance:write',
  'reports:write',
  'remote:access',
]

/** What is the provider's to decide, not its customer's. */
const providers: ReadonlySet<Right> = new Set(['organizations:delete', 'ai:admin', 'billing:write'])

const viewer = { description: 'Sees what there is, and changes nothing', rights: readers }

/** A permission that joins a list here joins the roles of tenants that are there already by a migration. */
export const builtInRoles = {
  partner: [
    {
      name: 'Partner Admin',
      description: 'Full access to the partner and its organizations',
      rights: ['*:*'],
      forceMfa: true, // interface §Role
    },
    {
      name: 'Partner Technician',
      description: 'Works on devices of all organizations it has access to',
      rights: technicians,
    },
    { name: 'Partner Viewer', ...viewer },
  ],
  organization: [
    {
      name: 'Organization Admin',
      description: 'Runs the organization: everything but deleting it',
      rights: allPermissions.filter((right) => !providers.has(right)),
    },
    {
      name: 'Organization Technician',
      description: 'Works on devices of the organization',
      rights: technicians,
    },
    { name: 'Organization Viewer', ...viewer },
  ],
} as const satisfies Record<string, readonly BuiltIn[]>
