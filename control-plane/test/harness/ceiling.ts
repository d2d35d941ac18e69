/**
 * The rights of `wanted` that whoever holds `held` does not have: a model of the ceiling that shares no code with the product.
 * Texts are `resource:action`.
 */
export function ceilingOf(held: Iterable<string>, wanted: Iterable<string>): string[] {
  const own = [...held]
  const lacking: string[] = []
  for (const right of wanted) {
    const has = own.some((mine) => mine === '*:*' || mine === right)
    if (!has && !lacking.includes(right)) lacking.push(right)
  }
  return lacking.sort((a, b) => (a < b ? -1 : 1))
}

/** Rows of roles as they stand in the database. */
export interface RoleRow {
  id: string
  parentRoleId: string | null
  permissions: string[]
}

/** What a role gives with all its parents. @throws Error for a circle */
export function rightsOfRole(rows: readonly RoleRow[], id: string): Set<string> {
  const given = new Set<string>()
  const walked = new Set<string>()
  let next: string | null = id
  while (next !== null) {
    const at: string = next
    if (walked.has(at)) throw new Error(`role ${at} is its own ancestor`)
    walked.add(at)
    const row = rows.find((candidate) => candidate.id === at)
    if (!row) throw new Error(`role ${at} is not there`)
    for (const right of row.permissions) given.add(right)
    next = row.parentRoleId
  }
  return given
}
