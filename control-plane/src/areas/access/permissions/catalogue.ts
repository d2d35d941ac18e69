import { v5 as uuidOf } from 'uuid'
import { everything } from '../../../kernel/permissions.ts'
import { allPermissions, pairOf, type Right } from '../../../kernel/rights.ts'
import type { Permission } from './schema.ts'

/** Of the ids of permissions. A constant: it must never change. */
const namespace = '6f1b7c0e-53a4-4d0b-9a53-3c3d5f0e8f11'

/** What each permission lets its holder do. One without words does not compile. */
const descriptions: Record<Right, string> = {
  'devices:read': 'See devices, their inventory and what they were told',
  'devices:write': 'Change devices: names, tags, groups, settings',
  'devices:delete': 'Take devices out of service',
  'devices:execute': 'Send commands to devices',
  'scripts:read': 'See scripts and what they printed',
  'scripts:write': 'Write and change scripts',
  'scripts:delete': 'Delete scripts',
  'scripts:execute': 'Run scripts on devices',
  'alerts:read': 'See alerts, rules and channels',
  'alerts:write': 'Change alert rules, channels and policies',
  'alerts:acknowledge': 'Acknowledge and resolve alerts',
  'automations:read': 'See automations and their runs',
  'automations:write': 'Make and change automations',
  'automations:delete': 'Delete automations',
  'users:read': 'See users, roles and access reviews',
  'users:write': 'Change users and roles, and who has which',
  'users:delete': 'Remove users and delete roles',
  'users:invite': 'Invite users',
  'organizations:read': 'See organizations, and that keys exist',
  'organizations:write': 'Make and change organizations, settings and keys',
  'organizations:delete': 'Delete organizations',
  'sites:read': 'See sites',
  'sites:write': 'Make and change sites',
  'sites:delete': 'Delete sites',
  'remote:access': 'Open remote sessions and transfer files',
  'audit:read': 'Read the audit log',
  'audit:export': 'Export the audit log',
  'patches:read': 'See patches and who lacks them',
  'patches:approve': 'Approve and decline patches',
  'patches:execute': 'Install patches and take them back',
  'security:read': 'See security status and threats',
  'security:write': 'Change security policies and what is let through',
  'security:execute': 'Scan, quarantine and isolate',
  'software:read': 'See the software catalog',
  'software:write': 'Change the software catalog',
  'software:execute': 'Install and remove software',
  'monitoring:read': 'See monitors, discovery and SNMP',
  'monitoring:write': 'Change monitors, discovery profiles and SNMP templates',
  'monitoring:execute': 'Start checks and discovery',
  'policies:read': 'See configuration policies and deployments',
  'policies:write': 'Change configuration policies and deployments',
  'policies:execute': 'Apply policies and start deployments',
  'maintenance:read': 'See maintenance windows',
  'maintenance:write': 'Make and change maintenance windows',
  'reports:read': 'See reports and analytics',
  'reports:write': 'Make and change reports and dashboards',
  'reports:delete': 'Delete reports and dashboards',
  'reports:export': 'Export reports',
  'integrations:read': 'See webhooks, plugins and ticketing connections',
  'integrations:write': 'Change webhooks, plugins and ticketing connections',
  'ai:use': 'Talk to the assistant',
  'ai:admin': 'Set budgets of the assistant and read what others said',
  'backup:read': 'See backups',
  'backup:write': 'Change backups',
  'billing:read': 'See bills',
  'billing:write': 'Change billing',
  '*:*': 'Everything, whatever will be added',
}

/** Assignable, and nothing behind them yet (docs/choices.md, Permissions). */
const ahead = /^(backup|billing):/

/** What can be assigned, in the order of the catalogue; full access comes last. */
export const permissions: readonly Permission[] = [...allPermissions, everything].map((right) => ({
  id: uuidOf(right, namespace),
  ...pairOf(right as Right),
  description: descriptions[right as Right],
  enforced: !ahead.test(right),
}))
