import {
  acceptInvite,
  type Ceremony,
  enroll,
  previewInvite,
  enableMfa,
  logIn,
  refresh,
  setUpMfa,
  verifyMfa,
} from './ceremonies.ts'
import {
  changePassword,
  confirmPhone,
  enableSms,
  forgetPassword,
  resetPassword,
  smsCode,
  smsLogin,
  verifyPhone,
} from './sign-in.ts'
import { browserCookie, ssoCode } from './sso.ts'
import type { Kind } from './things.ts'

/** Stands in a body for the id of a thing. */
export class Ref {
  readonly kind: Kind
  constructor(kind: Kind) {
    this.kind = kind
  }
}
/** Stands in a body for a text that no other request has. */
export class Unique {
  readonly text: string
  readonly tail: string
  constructor(text: string, tail = '') {
    this.text = text
    this.tail = tail
  }
}

/** How to call a route so that it succeeds, and which of its ids name what. */
export interface Sample {
  params?: Record<string, Kind>
  /** parameters that name nothing of anybody's, and what they say */
  fixed?: Record<string, string>
  /** what must be in the query */
  query?: Record<string, string>
  /** what must be in the headers */
  headers?: Record<string, string>
  /** a list that is the same for every tenant */
  everybodys?: true
  /** the parameter whose thing need not belong to the organization of what else is named */
  loose?: string
  /** with {@link Ref} and {@link Unique} where each call differs */
  body?: Record<string, unknown>
  /** makes a body that needs steps before it: a login, a code */
  ceremony?: Ceremony
  /** what the answer lists; absent: it is no list */
  lists?: Kind
  /** query keys that take ids, one or comma-separated */
  filters?: Record<string, Kind>
  /** the caller's login is over after it, or the caller not as before: each call has a caller of its own */
  endsLogin?: true
}

const id = (kind: Kind) => new Ref(kind)
const unique = (text: string) => new Unique(text)
const somebody = { name: 'Ann Lee', password: 'turquoise walrus keeps time' }
const linux = { platform: 'linux', arch: 'amd64' }
const device = { params: { id: 'device' } } as const
/** When the entries of things were written. What requests leave behind comes later, and changes no answer. */
const inJanuary = { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' }
const ofOrganization = { filters: { orgId: 'organization' }, query: inJanuary } as const
const entries = { lists: 'auditEntry', ...ofOrganization } as const
const ssoProvider = { params: { id: 'ssoProvider' } } as const
/** Anybody asks, and is told the same of one that is not there. */
const someOrganization = '01900000-0000-7000-8000-000000000000'
const group = { params: { id: 'deviceGroup' } } as const

/** One for each route of the table; a route without one fails every contract test that iterates it. */
export const samples: Record<string, Sample> = {
  'POST /auth/login': { ceremony: logIn },
  'POST /auth/refresh': { ceremony: refresh },
  'POST /auth/logout': { endsLogin: true },
  'GET /auth/me': {},
  'POST /auth/mfa/setup': { ceremony: setUpMfa },
  'POST /auth/mfa/enable': { ceremony: enableMfa, endsLogin: true },
  'POST /auth/mfa/verify': { ceremony: verifyMfa },
  'POST /auth/mfa/disable': { ceremony: smsCode, endsLogin: true },
  'POST /auth/mfa/recovery-codes': { ceremony: smsCode, endsLogin: true },
  'POST /auth/mfa/sms/enable': { ceremony: enableSms, endsLogin: true },
  'POST /auth/mfa/sms/send': { ceremony: smsLogin },
  'POST /auth/phone/verify': { ceremony: verifyPhone, endsLogin: true },
  'POST /auth/phone/confirm': { ceremony: confirmPhone, endsLogin: true },
  'POST /auth/register': { body: { email: new Unique('mine.', '@example.com'), ...somebody } },
  'POST /auth/register-partner': {
    body: { email: new Unique('ours.', '@example.com'), companyName: unique('Provider'), ...somebody },
  },
  'POST /auth/forgot-password': { ceremony: forgetPassword },
  'POST /auth/reset-password': { ceremony: resetPassword },
  'POST /auth/change-password': { ceremony: changePassword, endsLogin: true },

  'GET /orgs/partners': { lists: 'partner' },
  'POST /orgs/partners': { body: { name: unique('Partner') } },
  'GET /orgs/partners/me': {},
  'PATCH /orgs/partners/me': { body: { settings: { language: 'en' } } },
  'GET /orgs/partners/:id': { params: { id: 'partner' } },
  'PATCH /orgs/partners/:id': { params: { id: 'partner' }, body: { maxDevices: 100 } },
  'DELETE /orgs/partners/:id': { params: { id: 'partner' } },
  'GET /orgs/': { lists: 'organization' },
  'POST /auth/invite/preview': { ceremony: previewInvite },
  'POST /auth/accept-invite': { ceremony: acceptInvite },

  'GET /sso/presets': {},
  'GET /sso/providers': { lists: 'ssoProvider', filters: { orgId: 'organization' } },
  'POST /sso/providers': {
    body: {
      orgId: id('organization'),
      name: unique('Provider'),
      issuer: 'https://127.0.0.1',
      clientId: 'svc',
      clientSecret: 'between us',
    },
  },
  'GET /sso/providers/:id': ssoProvider,
  'PATCH /sso/providers/:id': { ...ssoProvider, body: { name: unique('Provider') } },
  'DELETE /sso/providers/:id': { params: { id: 'spareSsoProvider' } },
  'POST /sso/providers/:id/status': { ...ssoProvider, body: { status: 'testing' } },
  'POST /sso/providers/:id/test': ssoProvider,
  'GET /sso/login/:orgId': { fixed: { orgId: someOrganization } },
  'GET /sso/callback': {},
  'POST /sso/exchange': { ceremony: ssoCode, headers: { cookie: browserCookie } },
  'GET /sso/check/:orgId': { fixed: { orgId: someOrganization } },

  'GET /users/me': {},
  'PATCH /users/me': { body: { name: unique('Myself') } },
  'GET /users': { lists: 'user', filters: { roleId: 'role', orgId: 'organization' } },
  'GET /users/roles': { lists: 'role', filters: { orgId: 'organization' } },
  'GET /users/:id': { params: { id: 'user' } },
  'POST /users/invite': {
    body: { email: new Unique('new.', '@example.com'), name: 'New', roleId: id('spareRole') },
  },
  'POST /users/resend-invite': { body: { userId: id('invitee') } },
  'PATCH /users/:id': { params: { id: 'user' }, body: { name: unique('Renamed') } },
  'DELETE /users/:id': { params: { id: 'user' }, filters: { orgId: 'organization' } },
  'POST /users/:id/role': { params: { id: 'user' }, body: { roleId: id('spareRole') } },

  'GET /roles': { lists: 'role', filters: { orgId: 'organization' } },
  'POST /roles': { body: { name: unique('Role'), permissions: [] } },
  'GET /roles/permissions/available': {},
  'GET /roles/:id': { params: { id: 'role' } },
  'PATCH /roles/:id': { params: { id: 'spareRole' }, body: { description: 'Changed' } },
  'DELETE /roles/:id': { params: { id: 'spareRole' } },
  'POST /roles/:id/clone': { params: { id: 'spareRole' }, body: { name: unique('Clone') } },
  'GET /roles/:id/users': { params: { id: 'role' }, lists: 'user' },
  'GET /roles/:id/effective-permissions': { params: { id: 'role' } },
  'GET /permissions/catalog': { everybodys: true },

  'GET /access-reviews': {
    lists: 'accessReview',
    filters: { orgId: 'organization', reviewerId: 'reviewer' },
  },
  'POST /access-reviews': {
    body: { orgId: id('organization'), reviewerId: id('reviewer'), name: unique('Review') },
  },
  'GET /access-reviews/:id': { params: { id: 'accessReview' } },
  'PATCH /access-reviews/:id/items/:itemId': {
    params: { id: 'accessReview', itemId: 'reviewItem' },
    body: { decision: 'approved' },
  },
  'POST /access-reviews/:id/complete': { params: { id: 'accessReview' } },

  'GET /orgs/organizations': { lists: 'organization' },
  'POST /orgs/organizations': { body: { name: unique('Customer') } },
  'GET /orgs/organizations/:id': { params: { id: 'organization' } },
  'PATCH /orgs/organizations/:id': { params: { id: 'organization' }, body: { name: unique('Customer') } },
  'DELETE /orgs/organizations/:id': { params: { id: 'spareOrganization' } },
  'GET /orgs/sites': { lists: 'site', filters: { orgId: 'organization' } },
  'POST /orgs/sites': { body: { orgId: id('organization'), name: unique('Office') } },
  'GET /orgs/sites/:id': { params: { id: 'site' } },
  'PATCH /orgs/sites/:id': { params: { id: 'site' }, body: { name: unique('Office') } },
  'DELETE /orgs/sites/:id': { params: { id: 'emptySite' } },

  'GET /enrollment-keys': { lists: 'enrollmentKey', filters: { orgId: 'organization', siteId: 'site' } },
  'POST /enrollment-keys': { body: { orgId: id('organization'), siteId: id('site'), name: unique('Key') } },
  'GET /enrollment-keys/:id': { params: { id: 'enrollmentKey' } },
  'DELETE /enrollment-keys/:id': { params: { id: 'enrollmentKey' } },
  'POST /enrollment-keys/:id/rotate': { params: { id: 'enrollmentKey' }, body: { maxUsage: 5 } },
  'POST /agents/enroll': { ceremony: enroll },

  'GET /api-keys': { lists: 'apiKey', filters: { orgId: 'organization' } },
  'POST /api-keys': {
    body: { orgId: id('organization'), name: unique('Key'), scopes: ['organizations:write'] },
  },
  'GET /api-keys/:id': { params: { id: 'apiKey' } },
  'PATCH /api-keys/:id': { params: { id: 'apiKey' }, body: { rateLimit: 60 } },
  'DELETE /api-keys/:id': { params: { id: 'apiKey' } },
  'POST /api-keys/:id/rotate': { params: { id: 'apiKey' } },

  'GET /agents/download/:os/:arch': { fixed: { os: 'linux', arch: 'amd64' } },

  'GET /agent-versions': { everybodys: true },
  'GET /agent-versions/latest': { query: linux },
  'GET /agent-versions/:version/download': { fixed: { version: '1.0.0' }, query: linux },
  'POST /agent-versions/sync-github': { query: { version: '1.2.0' } },

  'GET /devices': {
    lists: 'device',
    filters: { orgIds: 'organization', siteIds: 'site', groupIds: 'deviceGroup' },
  },
  'GET /devices/:id': device,
  'DELETE /devices/:id': device,
  'GET /devices/:id/hardware': device,
  'GET /devices/:id/disks': device,
  'GET /devices/:id/network': device,
  'GET /devices/:id/software': device,
  'POST /devices/:id/auto-update': { ...device, body: { enabled: false } },
  'POST /devices/:id/quarantine': { ...device, body: { reason: 'lost' } },
  'POST /devices/:id/release': { params: { id: 'quarantinedDevice' } },
  'POST /devices/:id/move-org': {
    loose: 'id',
    ...device,
    body: { orgId: id('spareOrganization'), siteId: id('spareSite') },
  },
  'POST /devices/:id/commands': { ...device, body: { type: 'refresh_inventory' } },
  'GET /devices/:id/commands': { ...device, lists: 'command' },
  'GET /devices/:id/commands/:commandId': { params: { id: 'device', commandId: 'command' } },
  'POST /devices/:id/commands/:commandId/cancel': { params: { id: 'device', commandId: 'command' } },

  'GET /groups': { lists: 'deviceGroup', filters: { orgId: 'organization' } },
  'POST /groups': { body: { orgId: id('organization'), name: unique('Group') } },
  'GET /groups/:id': group,
  'PATCH /groups/:id': { ...group, body: { name: unique('Group') } },
  'DELETE /groups/:id': { params: { id: 'spareGroup' } },
  'GET /groups/:id/devices': { ...group, lists: 'device' },
  'POST /groups/:id/devices': { ...group, body: { deviceIds: [id('device')] } },
  'DELETE /groups/:id/devices/:deviceId': { params: { id: 'deviceGroup', deviceId: 'device' } },
  'GET /groups/:id/membership-log': { ...group, lists: 'groupChange', filters: { deviceId: 'device' } },
  'GET /audit': entries,
  'GET /audit/logs': entries,
  'GET /audit/logs/:id': { params: { id: 'auditEntry' } },
  'GET /audit/search': { ...entries, query: { q: 'entry', ...inJanuary } },
  'GET /audit/stats': ofOrganization,
  'GET /audit/export': ofOrganization,
  'POST /audit/export': { body: { dateRange: inJanuary } },
  'GET /audit/reports/user-activity': ofOrganization,
  'GET /audit/reports/security-events': ofOrganization,
  'GET /audit/reports/compliance': ofOrganization,
}
