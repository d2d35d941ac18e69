/** What an action is about, as reports count it. */
export const auditCategories = [
  'authentication', // who comes in, and with what
  'access', // who may do what
  'organization', // tenants, sites, groups
  'device', // devices, and what was done to them
  'data', // what left the system
  'system', // the platform itself
] as const
export type AuditCategory = (typeof auditCategories)[number]

/** How closely somebody should look, when it succeeded. */
export type AuditSeverity = 'info' | 'notice' | 'warning' | 'critical'

type About = readonly [category: AuditCategory, severity: AuditSeverity]

/**
 * Every action that is written to the audit log, by whatever part of the system (interface §Audit events, and what follows from it).
 * A test looks for each in the source, and for actions in the source that are not in here.
 */
export const auditActions = {
  'user.login': ['authentication', 'info'],
  'user.logout': ['authentication', 'info'],
  'user.register': ['authentication', 'info'],
  'user.invite.accept': ['authentication', 'info'],
  'user.password.change': ['authentication', 'notice'],
  'user.password.reset': ['authentication', 'notice'],
  'user.profile.update': ['authentication', 'info'],
  'auth.mfa.setup': ['authentication', 'notice'],
  'auth.mfa.disable': ['authentication', 'warning'],
  'auth.mfa.recovery_codes.rotate': ['authentication', 'notice'],
  'auth.mfa.verify': ['authentication', 'info'],
  'auth.mfa.sms.sent': ['authentication', 'info'],
  'auth.phone.verify.requested': ['authentication', 'info'],
  'auth.phone.confirmed': ['authentication', 'notice'],
  'auth.phone.confirm': ['authentication', 'info'], // that failed
  'auth.refresh.reuse': ['authentication', 'critical'],

  'authorization.denied': ['access', 'warning'],
  'user.invite': ['access', 'notice'],
  'user.invite.resend': ['access', 'info'],
  'user.update': ['access', 'notice'],
  'user.remove': ['access', 'notice'],
  'user.role.assign': ['access', 'warning'],
  'user.platform_admin.set': ['access', 'critical'],
  'role.create': ['access', 'notice'],
  'role.update': ['access', 'warning'],
  'role.delete': ['access', 'notice'],
  'role.clone': ['access', 'notice'],
  'api_key.create': ['access', 'notice'],
  'api_key.update': ['access', 'notice'],
  'api_key.rotate': ['access', 'notice'],
  'api_key.revoke': ['access', 'notice'],
  'enrollment_key.create': ['access', 'notice'],
  'enrollment_key.rotate': ['access', 'notice'],
  'enrollment_key.revoke': ['access', 'notice'],
  'access_review.create': ['access', 'info'],
  'access_review.item.update': ['access', 'info'],
  'access_review.complete': ['access', 'notice'],

  'sso.provider.create': ['access', 'warning'],
  'sso.provider.update': ['access', 'warning'],
  'sso.provider.delete': ['access', 'warning'],
  'sso.provider.status.update': ['access', 'warning'],
  'sso.provider.test': ['access', 'info'],
  'sso.callback.rejected': ['authentication', 'warning'],
  'sso.enforcement.released': ['access', 'critical'],

  'partner.create': ['organization', 'notice'],
  'partner.update': ['organization', 'notice'],
  'partner.delete': ['organization', 'critical'],
  'organization.create': ['organization', 'info'],
  'organization.update': ['organization', 'notice'],
  'organization.delete': ['organization', 'critical'],
  'site.create': ['organization', 'info'],
  'site.update': ['organization', 'info'],
  'site.delete': ['organization', 'notice'],
  'device_group.create': ['organization', 'info'],
  'device_group.update': ['organization', 'info'],
  'device_group.delete': ['organization', 'notice'],
  'device_group.devices.add': ['organization', 'info'],
  'device_group.devices.remove': ['organization', 'info'],

  'device.enroll': ['device', 'info'],
  'device.decommission': ['device', 'notice'],
  'device.quarantine': ['device', 'warning'],
  'device.release': ['device', 'warning'],
  'device.move_org': ['device', 'warning'],
  'device.command.send': ['device', 'notice'],
  'device.command.cancel': ['device', 'info'],
  'device.auto_update.set': ['device', 'info'],

  'audit.export': ['data', 'warning'],

  'agent_version.sync': ['system', 'notice'],
  'master_key.add': ['system', 'warning'],
  'master_key.use': ['system', 'warning'],
  'master_key.retire': ['system', 'warning'],
  'audit.loss.accept': ['system', 'critical'],
  'database.restored': ['system', 'critical'],
} as const satisfies Record<string, About>

/** Rows of a version that knew other actions are read as well. */
const unknown: About = ['system', 'info']

export const aboutAction = (action: string): About =>
  Object.hasOwn(auditActions, action) ? auditActions[action as keyof typeof auditActions] : unknown

/** The actions of some categories. */
export const actionsOf = (...categories: AuditCategory[]): string[] =>
  Object.entries(auditActions).flatMap(([action, [category]]) =>
    categories.includes(category) ? [action] : [],
  )
