import { requireWithin } from '../../../../kernel/ceiling.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError, wrongField } from '../../../../kernel/errors.ts'
import { effectiveRights } from '../../../../kernel/role-tree.ts'
import { rightsOfRoles, treeOfRole } from '../../roles/tree/service.ts'
import { findOtherActive, listMemberRoles, type ProviderRow } from './queries.ts'

type Calling = Pick<Ctx, 'db' | 'caller'>
type Provisioning = Pick<ProviderRow, 'orgId' | 'autoProvision' | 'defaultRoleId'>

/**
 * May the caller have new users given this role? False (404) for one that they do not see.
 *
 * @throws ApiError 400 for one that is not the organization's, or none where one is needed; 403 for more than the caller holds
 */
export async function requireDefaultRole({ db, caller }: Calling, wanted: Provisioning): Promise<boolean> {
  const { orgId, autoProvision, defaultRoleId } = wanted
  if (defaultRoleId === null) {
    if (autoProvision) throw wrongField('defaultRoleId', 'is needed with autoProvision')
    return true
  }
  const found = await treeOfRole(db, defaultRoleId)
  if (!found) return false
  if (found.owner.orgId !== orgId) throw wrongField('defaultRoleId', 'must be a role of the organization')
  requireWithin(caller, effectiveRights(found.tree, defaultRoleId), 'the role')
  return true
}

/**
 * Whoever decides which provider the organization believes could be any of its members, or of those invited: nobody does who holds less than one of them.
 *
 * @throws ApiError 403 DELEGATION_CEILING
 */
export async function requireMembersCeiling({ db, caller }: Calling, orgId: string): Promise<void> {
  const roles = await listMemberRoles(db, orgId)
  const rights = await rightsOfRoles(
    db,
    roles.map(({ roleId }) => roleId),
  )
  requireWithin(
    caller,
    [...rights.values()].flatMap((each) => [...each]),
    'a member of the organization',
  )
}

/** @throws ApiError 409 where another provider of the organization is active */
export async function requireOnlyActive({ db }: Pick<Ctx, 'db'>, provider: ProviderRow): Promise<void> {
  const other = await findOtherActive(db, provider)
  if (!other) return
  throw new ApiError(
    'CONFLICT',
    `the organization’s logins go through ${other.name}: deactivate that one first`,
    {
      details: [{ from: provider.status, to: 'active', activeProviderId: other.id }],
    },
  )
}
