import { changed, type Changes } from '../../../../kernel/changed.ts'
import type { Settings } from './schema.ts'

/** Of the tenant itself, and so not handed down. */
const itsOwn: readonly string[] = ['contact', 'address']
/** Handed down, but an organization may have its own. */
const preferred: readonly string[] = ['defaults']

const isGroup = (value: unknown): value is Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** `change` over `stored`, field by field; null unsets a field, and a category without fields is gone (RFC 7396). */
export function merge(stored: Settings, change: Settings): Settings {
  const merged = { ...stored }
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) continue
    const before = merged[name]
    const after = isGroup(value) ? merge(isGroup(before) ? before : {}, value) : value
    if (after === null || (isGroup(after) && Object.keys(after).length === 0)) delete merged[name]
    else merged[name] = after
  }
  return merged
}

/** A tenant with what a body changes of it: its settings field by field, what else it names as a whole. */
export const withChanges = <T extends { settings: Settings }>(
  before: T,
  { settings = {}, ...plain }: { settings?: Settings | undefined } & Changes<Omit<T, 'settings'>>,
): T => changed<T>({ ...before, settings: merge(before.settings, settings) }, plain as Changes<T>)

/** Paths of all fields, such as `security.requireMfa`; also of those that are null. */
export const pathsOf = (settings: Settings, within = ''): string[] =>
  Object.entries(settings).flatMap(([name, value]) => {
    if (value === undefined) return []
    return isGroup(value) ? pathsOf(value, `${within}${name}.`) : [`${within}${name}`]
  })

const without = (settings: Settings, names: readonly string[]): Settings =>
  Object.fromEntries(Object.entries(settings).filter(([name]) => !names.includes(name)))

/** What a partner's settings say for its organizations. */
export const handedDown = (partner: Settings): Settings => without(partner, itsOwn)

/** The fields of `change` that the partner has decided for its organizations. */
export function lockedFields(change: Settings, partner: Settings): string[] {
  const decided = new Set(pathsOf(without(partner, [...itsOwn, ...preferred])))
  return pathsOf(change).filter((path) => decided.has(path))
}

/** What holds in an organization. */
export function effective(organization: Settings, partner: Settings): Settings {
  const down = handedDown(partner)
  const preferences = Object.fromEntries(
    preferred.map((name) => [
      name,
      merge({ [name]: down[name] ?? {} }, { [name]: organization[name] })[name],
    ]),
  )
  return merge(merge(organization, down), preferences)
}
