import { ApiError, wrongField } from '../../../kernel/errors.ts'
import { type RoleTree, wouldCircle } from '../../../kernel/role-tree.ts'
import type { Db } from '../../../kernel/tenancy.ts'
import { findRole } from './queries.ts'

/** @throws ApiError 400 for a built-in role */
export function requireCustom({ isSystem, name }: { isSystem: boolean; name: string }): void {
  if (isSystem) throw new ApiError('SYSTEM_ROLE', `${name} is built in: clone it and change the clone`)
}

/** Custom roles of one owner: the tree is read whole by each change of it. */
const mostRoles = 1_000

/** Within the lock of a change. @throws ApiError 409 LIMIT_REACHED */
export function requireRoom(tree: RoleTree): void {
  if (tree.size < mostRoles) return
  throw new ApiError('LIMIT_REACHED', `there are ${mostRoles} roles already`, {
    details: [{ most: mostRoles }],
  })
}

/** Within the lock of a change. @throws ApiError 409 when another role of the owner is called so, in any case */
export function requireFreeName(tree: RoleTree, roleId: string | undefined, name: string): void {
  const taken = [...tree.values()].some(
    (role) => role.id !== roleId && role.name.toLowerCase() === name.toLowerCase(),
  )
  if (taken)
    throw new ApiError('ALREADY_EXISTS', 'another role of the same owner has this name', {
      details: [{ name }],
    })
}

/**
 * May the role have this parent? False for one that the caller does not see: it is as absent.
 *
 * @param roleId undefined: of a role that is yet to be made
 * @throws ApiError 400 for a parent of another owner, for the role itself, and for one that is below it
 */
export async function requireParent(
  db: Db,
  tree: RoleTree,
  roleId: string | undefined,
  parentRoleId: string | null,
): Promise<boolean> {
  if (parentRoleId === null) return true
  if (!tree.has(parentRoleId)) {
    if (!(await findRole(db, parentRoleId))) return false
    throw wrongField('parentRoleId', 'must be a role of the same owner')
  }
  if (roleId !== undefined && wouldCircle(tree, roleId, parentRoleId)) {
    throw new ApiError('CIRCULAR_INHERITANCE', 'the parent is the role itself, or inherits from it')
  }
  return true
}
