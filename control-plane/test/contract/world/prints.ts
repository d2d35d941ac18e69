import type { World } from './things.ts'

/** What stands whatever becomes of a request: limits, and tries of a second factor. Refusals are in the log; nothing else is. */
const besides: Record<string, string> = {
  rate_limits: 'false',
  mfa_challenges: 'false',
  phone_codes: 'false',
  sealing_key_holders: 'false', // each process says every two seconds that it runs
  audit_log: "result = 'success'",
  audit_words: "not words @@ 'r\\:failure | r\\:denied'",
  audit_unsealed: "exists (select from svc.audit_log a where a.id = t.audit_id and a.result = 'success')",
}
/** Uses of keys are counted in the background, refused or not. */
const rowsOf: Record<string, string> = {
  api_keys: "(to_jsonb(t) - 'usage_count' - 'last_used_at')::text",
}
const versionOf = 't.ctid::text || t.xmin::text'

/** Table → the number of its rows and a sum over their versions: a row that was only written again differs too. */
export type Prints = ReadonlyMap<string, string>

/** The whole database in one statement, the queue of jobs included. */
export async function prints({ owner }: Pick<World, 'owner'>): Promise<Prints> {
  const tables = await owner<{ schema: string; name: string }[]>`
    select nspname as schema, relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where relkind = 'r' and nspname not in ('pg_catalog', 'information_schema') order by 1, 2`
  const parts = tables.map(({ schema, name }) => {
    const version = rowsOf[name] ?? versionOf
    return `select '${schema}.${name}' as name, count(*) || ':' || coalesce(sum(hashtextextended(${version}, 0)), 0) as print
      from "${schema}"."${name}" t where ${besides[name] ?? 'true'}`
  })
  const rows = await owner.unsafe<{ name: string; print: string }[]>(parts.join(' union all '))
  return new Map(rows.map(({ name, print }) => [name, print]))
}

/** The tables that differ. */
export const changedSince = (before: Prints, after: Prints): string[] =>
  [...after].filter(([name, print]) => before.get(name) !== print).map(([name]) => name)
