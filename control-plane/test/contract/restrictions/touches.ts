import type { Check } from './ask.ts'
import { entryList, exported, figures, oneEntry } from './audit-checks.ts'
import { deviceList, madeKey, oneDevice } from './device-checks.ts'
import {
  atSite,
  changeList,
  groupList,
  keyList,
  memberList,
  oneGroup,
  refused,
  siteList,
} from './group-checks.ts'

/** What a route has to do with sites, groups and their devices. */
export type Touch =
  | { check: Check /** only a limit to sites matters to it */; sitesAlone?: true }
  /** nothing: called without limits it shows no device and changes none */
  | { none: string }
  /** devices, and not as a member of an organization sees them */
  | { beyond: string }

const device: Touch = { check: oneDevice }
const key: Touch = { check: madeKey }
const whole: Touch = { check: refused }
const site: Touch = { check: atSite, sitesAlone: true }

const account: Touch = { none: 'is about the account itself' }
const people: Touch = { none: 'shows people and what they are limited to' }
const tenant: Touch = { none: 'is about the tenant itself' }
const releases: Touch = { none: 'releases are the same for everybody' }

/**
 * Every route of the table. Which devices a new one shows or changes is decided here, and by a check where it is any: a route that is
 * not in here fails the test.
 */
export const touches: Record<string, Touch> = {
  'POST /auth/login': account,
  'POST /auth/refresh': account,
  'POST /auth/logout': account,
  'GET /auth/me': account,
  'POST /auth/mfa/setup': account,
  'POST /auth/mfa/enable': account,
  'POST /auth/mfa/verify': account,
  'POST /auth/mfa/disable': account,
  'POST /auth/mfa/recovery-codes': account,
  'POST /auth/mfa/sms/enable': account,
  'POST /auth/mfa/sms/send': account,
  'POST /auth/phone/verify': account,
  'POST /auth/phone/confirm': account,
  'POST /auth/register': account,
  'POST /auth/register-partner': account,
  'POST /auth/forgot-password': account,
  'POST /auth/reset-password': account,
  'POST /auth/change-password': account,
  'POST /auth/invite/preview': account,
  'POST /auth/accept-invite': account,
  'GET /users/me': account,
  'PATCH /users/me': account,

  'GET /sso/presets': { none: 'is the same for everybody' },
  'GET /sso/providers': { none: 'shows who may say that somebody is a member' },
  'POST /sso/providers': whole,
  'GET /sso/providers/:id': { none: 'shows who may say that somebody is a member' },
  'PATCH /sso/providers/:id': whole,
  'DELETE /sso/providers/:id': whole,
  'POST /sso/providers/:id/status': whole,
  'POST /sso/providers/:id/test': whole,
  'GET /sso/login/:orgId': account,
  'GET /sso/callback': account,
  'POST /sso/exchange': account,
  'GET /sso/check/:orgId': tenant,

  'GET /users': people,
  'GET /users/roles': people,
  'GET /users/:id': people,
  'POST /users/invite': whole,
  'POST /users/resend-invite': whole,
  'PATCH /users/:id': whole,
  'DELETE /users/:id': whole,
  'POST /users/:id/role': whole,
  'GET /roles': people,
  'POST /roles': whole,
  'GET /roles/permissions/available': people,
  'GET /roles/:id': people,
  'PATCH /roles/:id': whole,
  'DELETE /roles/:id': whole,
  'POST /roles/:id/clone': whole,
  'GET /roles/:id/users': people,
  'GET /roles/:id/effective-permissions': people,
  'GET /permissions/catalog': people,

  'GET /access-reviews': people,
  'POST /access-reviews': whole,
  'GET /access-reviews/:id': people,
  'PATCH /access-reviews/:id/items/:itemId': whole,
  'POST /access-reviews/:id/complete': whole,

  'GET /orgs/': tenant,
  'GET /orgs/partners': tenant,
  'POST /orgs/partners': tenant,
  'GET /orgs/partners/me': tenant,
  'PATCH /orgs/partners/me': tenant,
  'GET /orgs/partners/:id': tenant,
  'PATCH /orgs/partners/:id': tenant,
  'DELETE /orgs/partners/:id': { beyond: 'the platform ends a partner with all of its devices' },
  'GET /orgs/organizations': tenant,
  'POST /orgs/organizations': tenant,
  'GET /orgs/organizations/:id': tenant,
  'PATCH /orgs/organizations/:id': whole,
  'DELETE /orgs/organizations/:id': { beyond: 'the partner ends an organization with all of its devices' },
  'GET /orgs/sites': { check: siteList, sitesAlone: true },
  'POST /orgs/sites': whole,
  'GET /orgs/sites/:id': site,
  'PATCH /orgs/sites/:id': whole,
  'DELETE /orgs/sites/:id': whole,

  'GET /enrollment-keys': { check: keyList, sitesAlone: true },
  'POST /enrollment-keys': site,
  'GET /enrollment-keys/:id': site,
  'DELETE /enrollment-keys/:id': site,
  'POST /enrollment-keys/:id/rotate': site,
  'POST /agents/enroll': { beyond: 'whoever has the key is nobody’s member' },
  'GET /agents/download/:os/:arch': releases,
  'GET /agent-versions': releases,
  'GET /agent-versions/latest': releases,
  'GET /agent-versions/:version/download': releases,
  'POST /agent-versions/sync-github': releases,

  'GET /api-keys': { none: 'shows keys, not what they reach' },
  'POST /api-keys': key,
  'GET /api-keys/:id': { none: 'shows a key, not what it reaches' },
  'PATCH /api-keys/:id': { none: 'changes what a key may do, not whose it is' },
  'DELETE /api-keys/:id': { none: 'a key that is dead reaches nothing' },
  'POST /api-keys/:id/rotate': key,

  'GET /devices': { check: deviceList },
  'GET /devices/:id': device,
  'DELETE /devices/:id': device,
  'GET /devices/:id/hardware': device,
  'GET /devices/:id/disks': device,
  'GET /devices/:id/network': device,
  'GET /devices/:id/software': device,
  'POST /devices/:id/auto-update': device,
  'POST /devices/:id/quarantine': device,
  'POST /devices/:id/release': device,
  'POST /devices/:id/move-org': {
    beyond: 'whoever moves a device sees two organizations whole, and members see one',
  },
  'POST /devices/:id/commands': device,
  'GET /devices/:id/commands': device,
  'GET /devices/:id/commands/:commandId': device,
  'POST /devices/:id/commands/:commandId/cancel': device,

  'GET /groups': { check: groupList },
  'POST /groups': whole,
  'GET /groups/:id': { check: oneGroup },
  'PATCH /groups/:id': whole,
  'DELETE /groups/:id': whole,
  'GET /groups/:id/devices': { check: memberList },
  'POST /groups/:id/devices': whole,
  'DELETE /groups/:id/devices/:deviceId': whole,
  'GET /groups/:id/membership-log': { check: changeList },

  'GET /audit': { check: entryList },
  'GET /audit/logs': { check: entryList },
  'GET /audit/logs/:id': { check: oneEntry },
  'GET /audit/search': { check: entryList },
  'GET /audit/stats': { check: figures },
  'GET /audit/export': { check: exported },
  'POST /audit/export': { check: exported },
  'GET /audit/reports/user-activity': { check: figures },
  'GET /audit/reports/security-events': { check: figures },
  'GET /audit/reports/compliance': { check: figures },
}
