/** So often by kind of something. */
export type Counts = Map<string, number>

export const count = (counts: Counts, kind: string, more = 1): void =>
  void counts.set(kind, (counts.get(kind) ?? 0) + more)

/** Both together. */
export function sumOf(first: Counts, second: Counts): Counts {
  const all = new Map(first)
  for (const [kind, many] of second) count(all, kind, many)
  return all
}
