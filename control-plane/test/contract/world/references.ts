import { Ref, Unique } from './samples.ts'
import type { Kind } from './things.ts'

/** Something that a request may name besides what its sample names. */
export interface Reference {
  /** of the body, or of the query where there is no body */
  key: string
  kind: Kind
  /** one that succeeds, with `key` in it */
  body?: Record<string, unknown>
  /** what else the body names need not belong to the same organization */
  loose?: true
}

const id = (kind: Kind) => new Ref(kind)
const role = () => ({ name: new Unique('Role') })
const invited = () => ({ email: new Unique('new.', '@example.com'), name: 'New' })

/** Every id of a body or query that a call may leave out: a contract test compares with what is declared. */
export const references: Record<string, readonly Reference[]> = {
  'POST /roles': [
    { key: 'orgId', kind: 'organization', body: { ...role(), orgId: id('organization') } },
    {
      key: 'parentRoleId',
      kind: 'role',
      body: { ...role(), orgId: id('organization'), parentRoleId: id('role') },
    },
  ],
  'PATCH /roles/:id': [{ key: 'parentRoleId', kind: 'role', body: { parentRoleId: id('role') } }],
  'POST /users/invite': [
    {
      key: 'orgIds',
      kind: 'organization',
      body: { ...invited(), roleId: id('partnerRole'), orgAccess: 'selected', orgIds: [id('organization')] },
      loose: true,
    },
    { key: 'siteIds', kind: 'site', body: { ...invited(), roleId: id('spareRole'), siteIds: [id('site')] } },
    {
      key: 'deviceGroupIds',
      kind: 'deviceGroup',
      body: { ...invited(), roleId: id('spareRole'), deviceGroupIds: [id('deviceGroup')] },
    },
  ],
  'POST /sso/providers': [
    {
      key: 'defaultRoleId',
      kind: 'spareRole',
      body: {
        orgId: id('organization'),
        name: new Unique('Provider'),
        issuer: 'https://127.0.0.1',
        clientId: 'svc',
        clientSecret: 'between us',
        defaultRoleId: id('spareRole'),
      },
    },
  ],
  'PATCH /sso/providers/:id': [
    { key: 'defaultRoleId', kind: 'spareRole', body: { defaultRoleId: id('spareRole') } },
  ],
  'DELETE /users/:id': [{ key: 'orgId', kind: 'organization' }],
  'GET /audit/stats': [{ key: 'orgId', kind: 'organization' }],
  'GET /audit/export': [{ key: 'orgId', kind: 'organization' }],
  'GET /audit/reports/user-activity': [{ key: 'orgId', kind: 'organization' }],
  'GET /audit/reports/security-events': [{ key: 'orgId', kind: 'organization' }],
  'GET /audit/reports/compliance': [{ key: 'orgId', kind: 'organization' }],
}
