import type { Ctx } from '../../../kernel/context.ts'
import { ApiError } from '../../../kernel/errors.ts'
import type { Page } from '../../../kernel/page.ts'
import { permissionCatalogue } from '../../../kernel/permissions.ts'
import { actionAliases, aliasedResource, pairOf } from '../../../kernel/rights.ts'
import { chainOf, demandsMfa, sourcedRights } from '../../../kernel/role-tree.ts'
import { findRole, listRoleUsers } from './queries.ts'
import type { AvailablePermissions, EffectivePermissions, RoleUser } from './schema.ts'
import { treeOfRole } from './tree/service.ts'

/** The words that bodies may use, those of the interface's own list included. */
export const availablePermissions = (): AvailablePermissions => ({
  resources: [...Object.keys(permissionCatalogue), aliasedResource.name],
  actions: [
    ...new Set([...Object.values(permissionCatalogue).flat(), ...Object.keys(actionAliases)]),
  ].toSorted(),
})

/** Who has the role, newest account first. @throws ApiError 404 */
export async function roleUsers({ db, params }: Ctx<{ id: string }>, page: Page): Promise<RoleUser[]> {
  const [role, users] = await Promise.all([findRole(db, params.id), listRoleUsers(db, params.id, page)])
  if (!role) throw new ApiError('NOT_FOUND', 'not found')
  return users
}

/** All that a role gives, and from which role of its chain. Undefined (404) for one that the caller does not see. */
export async function effectivePermissions({
  db,
  params,
}: Ctx<{ id: string }>): Promise<EffectivePermissions | undefined> {
  const found = await treeOfRole(db, params.id)
  const role = found?.tree.get(params.id)
  if (!found || !role) return undefined
  return {
    roleId: role.id,
    roleName: role.name,
    forceMfa: demandsMfa(found.tree, role.id),
    inheritanceChain: chainOf(found.tree, role.id).map(({ id, name }) => ({ id, name })),
    permissions: sourcedRights(found.tree, role.id).map(({ right, source, inherited }) => ({
      ...pairOf(right),
      inherited,
      sourceRoleId: source.id,
      sourceRoleName: source.name,
    })),
  }
}
