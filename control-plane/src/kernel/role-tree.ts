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
  const chain = new Set<RoleNode>()
  let at = tree.get(roleId)
  while (at && !chain.has(at)) {
    chain.add(at)
    at = at.parentRoleId === null ? undefined : tree.get(at.parentRoleId)
  }
  return [...chain]
}

/**
 * All that a role gives, inherited rights included.
 *
 * @throws Error for a role that is not in the tree: it would seem to give nothing, and so be everybody's to hand on
 */
export function effectiveRights(tree: RoleTree, roleId: string): Rights {
  if (!tree.has(roleId)) throw new Error(`role ${roleId} is not in its owner's tree`)
  return new Set(chainOf(tree, roleId).flatMap(({ rights }) => [...rights]))
}

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
export function withDescendants(tree: RoleTree, roleId: string): string[] {
  const children = new Map<string, string[]>()
  for (const { id, parentRoleId } of tree.values()) {
    if (parentRoleId === null) continue
    const siblings = children.get(parentRoleId)
    if (siblings) siblings.push(id)
    else children.set(parentRoleId, [id])
  }
  const found = new Set(tree.has(roleId) ? [roleId] : [])
  for (const id of found) for (const child of children.get(id) ?? []) found.add(child) // grows as it is walked
  return [...found]
}

/** What a role makes of its users, with all that it inherits. */
interface Standing {
  rights: Rights
  demandsMfa: boolean
}

/**
 * {@link effectiveRights} and {@link demandsMfa} of many roles of one tree. Nobody says how deep a tree may be: what a parent gives is put
 * together once, and not again for each role below it.
 */
function standingIn(tree: RoleTree): (roleId: string) => Standing {
  const known = new Map<string, Standing>()
  return (roleId) => {
    const chain = new Set<RoleNode>()
    let at = tree.get(roleId)
    while (at && !known.has(at.id) && !chain.has(at)) {
      chain.add(at)
      at = at.parentRoleId === null ? undefined : tree.get(at.parentRoleId)
    }
    let standing: Standing = (at && known.get(at.id)) ?? { rights: new Set(), demandsMfa: false }
    for (const { id, rights, forceMfa } of [...chain].reverse()) {
      standing = {
        rights: new Set([...standing.rights, ...rights]),
        demandsMfa: standing.demandsMfa || forceMfa,
      }
      known.set(id, standing)
    }
    return standing
  }
}

const isSame = (one: Standing, other: Standing): boolean =>
  one.demandsMfa === other.demandsMfa &&
  one.rights.size === other.rights.size &&
  [...one.rights].every((right) => other.rights.has(right))

/**
 * What a change of one role puts at stake: all that the role, and each below it whose rights or second factor differ afterwards, gives
 * before or after. Whoever makes the change must hold it all: neither to give what is not theirs, nor to take from those who hold more,
 * nor to take away what guards it.
 */
export function atStake(tree: RoleTree, changed: RoleNode): Rights {
  const after = new Map(tree).set(changed.id, changed)
  const stake = new Set<Right>()
  const [before, later] = [standingIn(tree), standingIn(after)]
  for (const id of withDescendants(tree, changed.id)) {
    const [was, becomes] = [before(id), later(id)]
    if (isSame(was, becomes) && id !== changed.id) continue
    for (const right of [...was.rights, ...becomes.rights]) stake.add(right)
  }
  return stake
}
