import { everything, type Permission, permissionCatalogue } from './permissions.ts'

/** A permission of the catalogue, or `*:*`. */
export type Right = Permission | typeof everything
export type Rights = ReadonlySet<Right>

/** As bodies and answers spell a right (interface §Permission). */
export interface Pair {
  resource: string
  action: string
}

/** Every permission that is checked anywhere, in the order of the catalogue. */
export const allPermissions: readonly Permission[] = Object.entries(permissionCatalogue).flatMap(
  ([resource, actions]) => actions.map((action) => `${resource}:${action}` as Permission),
)

const assignable: ReadonlySet<string> = new Set([...allPermissions, everything])

/** What the interface's list of actions is called in the catalogue; any other word is itself. */
export const actionAliases: Readonly<Record<string, string>> = {
  view: 'read',
  create: 'write',
  update: 'write',
}
/** A resource of the interface's list that has no rights of its own. */
export const aliasedResource = { name: 'settings', means: 'organizations:write' } as const
const itsActions: ReadonlySet<string> = new Set([
  'view',
  'create',
  'update',
  'delete',
  'execute',
  'read',
  'write',
])

/**
 * What is held that lets somebody do `wanted`. Only `*:*` covers `*:*`: whoever holds every permission of today does not hold
 * tomorrow's.
 */
export const covers = (held: Rights, wanted: Iterable<Right>): boolean => beyond(held, wanted).length === 0

/** What of `wanted` is not covered, each once and sorted. */
export function beyond(held: Rights, wanted: Iterable<Right>): Right[] {
  if (held.has(everything)) return []
  return [...new Set(wanted)].filter((right) => !held.has(right)).toSorted()
}

/** A right as bodies may spell it; undefined when the catalogue has no such pair. */
export function rightOf({ resource, action }: Pair): Right | undefined {
  if (resource === aliasedResource.name) return itsActions.has(action) ? aliasedResource.means : undefined
  const right = `${resource}:${Object.hasOwn(actionAliases, action) ? actionAliases[action] : action}`
  return assignable.has(right) ? (right as Right) : undefined
}

/** `devices:read` as `{resource, action}`. */
export function pairOf(right: Right): Pair {
  const [resource = '', action = ''] = right.split(':')
  return { resource, action }
}
