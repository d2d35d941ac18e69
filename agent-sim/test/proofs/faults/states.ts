import type { Scene } from './scene.ts'

/** Of each of these commands, its state; in their order. */
export async function statesOf({ system: { sql } }: Scene, ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string; status: string }[]>`
    select id, status from commands where id = any(${[...ids]}::uuid[])`
  const byId = new Map(rows.map(({ id, status }) => [id, status]))
  return ids.map((id) => byId.get(id) ?? 'lost')
}

/** Those that are not in that state, one line each. */
export async function otherThan(scene: Scene, state: string, ids: readonly string[]): Promise<string[]> {
  const states = await statesOf(scene, ids)
  return ids.flatMap((id, at) => (states[at] === state ? [] : [`${id} is ${states[at]}`]))
}
