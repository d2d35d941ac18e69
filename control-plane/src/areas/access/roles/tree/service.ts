import { ApiError } from '../../../../kernel/errors.ts'
import type { Right } from '../../../../kernel/rights.ts'
import { effectiveRights, type RoleTree } from '../../../../kernel/role-tree.ts'
import type { Rights } from '../../../../kernel/rights.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import { findAdministrator, findOwner, listRights, listTree, lockStanding, type Owner } from './queries.ts'

export type { Owner } from './queries.ts'

/** All roles of one owner. Stored rights that no catalogue has any more stay what they are: nothing checks for them. */
export async function readTree(db: Db, owner: Owner): Promise<RoleTree> {
  const rows = await listTree(db, owner)
  return new Map(rows.map((row) => [row.id, { ...row, rights: new Set(row.rights as Right[]) }]))
}

/** A role that the caller sees, among those of its owner. */
export async function treeOfRole(
  db: Db,
  roleId: string,
): Promise<{ owner: Owner; tree: RoleTree } | undefined> {
  const owner = await findOwner(db, roleId)
  return owner && { owner, tree: await readTree(db, owner) }
}

/** All that a role gives, inherited rights included; nothing for a role that the caller does not see. */
export async function rightsOfRole(db: Db, roleId: string): Promise<Rights> {
  const found = await treeOfRole(db, roleId)
  return found ? effectiveRights(found.tree, roleId) : new Set()
}

/** As {@link rightsOfRole}, of many roles in one go, also of those that went with their organization. */
export async function rightsOfRoles(db: Db, roleIds: readonly string[]): Promise<Map<string, Rights>> {
  const rows = await listRights(db, [...new Set(roleIds)])
  return new Map(rows.map(({ roleId, rights }) => [roleId, new Set(rights as Right[])]))
}

/**
 * Before anything of who may do what is judged and changed. Such changes within a partner come one after the other, so that two
 * of them cannot together do what neither may: close a circle of parents, raise a role that is being given away, remove each
 * other's administrator.
 *
 * @returns the partner of the caller
 */
export async function beginChange(db: Db): Promise<string> {
  if (db.scope.kind !== 'tenant') throw new Error('who may do what is changed within a tenant')
  await lockStanding(db, db.scope.partnerId)
  return db.scope.partnerId
}

/**
 * After a change that took full access from somebody at the partner's own level, or before one that takes the membership itself.
 *
 * @param leaving users who are about to be no members any more, and what a refusal says of them
 * @throws ApiError 409 LAST_ADMINISTRATOR when nobody active is left there who sees all of it and holds everything
 */
export async function requireAdministrator(
  db: Db,
  partnerId: string,
  { userIds, details }: { userIds: readonly string[]; details: Record<string, unknown>[] } = {
    userIds: [],
    details: [],
  },
): Promise<void> {
  if ((await findAdministrator(db, partnerId, userIds))?.remains) return
  throw new ApiError('LAST_ADMINISTRATOR', 'the partner would be left without an administrator', { details })
}
