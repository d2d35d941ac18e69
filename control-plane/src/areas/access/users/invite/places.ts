import { ApiError, wrongField } from '../../../../kernel/errors.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import type { Owner } from '../../roles/tree/service.ts'
import type { InviteUser } from '../schema.ts'
import { knownGroups, knownOrganizations, knownSites } from './queries.ts'

type Limits = Pick<InviteUser, 'orgAccess' | 'orgIds' | 'siteIds' | 'deviceGroupIds'>

/**
 * Does the body have the form that its role asks for (interface §Users)?
 *
 * @throws ApiError 400
 */
export function requireForm({ orgId }: Owner, body: Limits): void {
  if (orgId !== null) {
    for (const field of ['orgAccess', 'orgIds'] as const) {
      if (body[field] !== undefined) throw wrongField(field, 'goes with a role of the partner')
    }
    return
  }
  for (const field of ['siteIds', 'deviceGroupIds'] as const) {
    if (body[field] !== undefined) throw wrongField(field, 'goes with a role of an organization')
  }
  if (body.orgAccess === undefined)
    throw wrongField('orgAccess', 'is missing: the role is one of the partner')
  if (body.orgAccess === 'selected' && !body.orgIds)
    throw wrongField('orgIds', 'is missing: orgAccess is selected')
  if (body.orgAccess !== 'selected' && body.orgIds) throw wrongField('orgIds', 'goes with orgAccess selected')
}

/**
 * Are all organizations, sites and groups of the body there, and the organization's own?
 *
 * @throws ApiError 404; `details` names each id that is foreign or absent, which are alike
 */
export async function requireKnown(db: Db, { orgId }: Owner, body: Limits): Promise<void> {
  const lists = {
    orgIds: (ids: string[]) => knownOrganizations(db, ids),
    siteIds: (ids: string[]) => knownSites(db, String(orgId), ids),
    deviceGroupIds: (ids: string[]) => knownGroups(db, String(orgId), ids),
  }
  const missing: { field: string; id: string; code: string }[] = []
  for (const [field, known] of Object.entries(lists)) {
    const ids = body[field as keyof typeof lists] ?? []
    const found = ids.length > 0 ? new Set((await known(ids)).map(({ id }) => id)) : new Set()
    missing.push(...ids.filter((id) => !found.has(id)).map((id) => ({ field, id, code: 'NOT_FOUND' })))
  }
  if (missing.length > 0) throw new ApiError('NOT_FOUND', 'not found', { details: missing })
}
