import type { Right, Rights } from './rights.ts'

/** A role among those of one owner. */
export interface RoleNode {
  id: string
  name: string
  parentRoleId: string | null
  forceMfa: boolean
  /** its own, without inherited ones */
  rights: Rights
}

/** All roles of one owner by id: parents never lie outside of it. */
export type RoleTree = ReadonlyMap<string, RoleNode>

/** A right that a role gives, and the nearest role of its chain that has it. */
export interface SourcedRight {
  right: Right
  source: RoleNode
  inherited: boolean
}

/** The role and its parents, nearest first. A circle, which no change can make, would end where it closes. */
export function chainOf(tree: RoleTree, roleId: string): RoleNode[] {
  const chain: RoleNode[] = []
  let at = tree.get(roleId)
  while (at && !chain.includes(at)) {
    chain.push(at)
    at = at.parentRoleId === null ? undefined : tree.get(at.parentRoleId)
  }
  return chain
}

/** All that a role gives, inherited rights included. */
export const effectiveRights = (tree: RoleTree, roleId: string): Rights =>
  new Set(chainOf(tree, roleId).flatMap(({ rights }) => [...rights]))

/** A role demands a second factor where it, or one that it inherits from, says so. */
export const demandsMfa = (tree: RoleTree, roleId: string): boolean =>
  chainOf(tree, roleId).some(({ forceMfa }) => forceMfa)

/** As {@link effectiveRights}, each with where it comes from. */
export function sourcedRights(tree: RoleTree, roleId: string): SourcedRight[] {
  const found = new Map<Right, SourcedRight>()
  for (const source of chainOf(tree, roleId)) {
    for (const right of source.rights) {
      if (!found.has(right)) found.set(right, { right, source, inherited: source.id !== roleId })
    }
  }
  return [...found.values()].toSorted((a, b) => (a.right < b.right ? -1 : 1))
}

/** Would `roleId` be its own ancestor under this parent? */
export const wouldCircle = (tree: RoleTree, roleId: string, parentRoleId: string): boolean =>
  chainOf(tree, parentRoleId).some(({ id }) => id === roleId)

/** The role and everything below it. */
export const withDescendants = (tree: RoleTree, roleId: string): string[] =>
  [...tree.keys()].filter((id) => chainOf(tree, id).some((role) => role.id === roleId))

/**
 * What a change of one role puts at stake: all that the role, and each below it whose rights differ afterwards, gives before or
 * after. Whoever makes the change must hold it all: neither to give what is not theirs, nor to take from those who hold more.
 */
export function atStake(tree: RoleTree, changed: RoleNode): Rights {
  const after = new Map(tree).set(changed.id, changed)
  const stake = new Set<Right>()
  for (const id of withDescendants(tree, changed.id)) {
    const [was, becomes] = [effectiveRights(tree, id), effectiveRights(after, id)]
    const same = was.size === becomes.size && [...was].every((right) => becomes.has(right))
    if (same && id !== changed.id) continue
    for (const right of [...was, ...becomes]) stake.add(right)
  }
  return stake
}
