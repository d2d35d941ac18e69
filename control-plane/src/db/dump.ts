import type { Sql } from 'postgres'

/** Lines of one part of the schema, in an order that does not depend on how it came about. */
type Part = (sql: Sql) => Promise<string[]>

const schema = 'svc'
const text = (rows: readonly { line: string }[]) => rows.map(({ line }) => line)

/** `create table` with columns, defaults and constraints, as the catalogue has them. */
const tables: Part = async (sql) => {
  const rows = await sql<
    { name: string; body: string[]; rls: boolean; forced: boolean; options: string | null }[]
  >`
    select c.relname as name, c.relrowsecurity as rls, c.relforcerowsecurity as forced, array_to_string(c.reloptions, ', ') as options,
      (select array_agg(format('  %I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
          case when a.attnotnull then ' not null' else '' end,
          case
            when a.attidentity <> '' then ' generated ' || case a.attidentity when 'a' then 'always' else 'by default' end || ' as identity'
            when a.attgenerated = 's' then ' generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') stored'
            when d.adbin is not null then ' default ' || pg_get_expr(d.adbin, d.adrelid)
            else '' end) order by a.attnum)
        from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
      || coalesce((select array_agg(format('  constraint %I %s', k.conname, pg_get_constraintdef(k.oid)) order by k.contype, k.conname)
        from pg_constraint k where k.conrelid = c.oid and k.contype <> 'n'), '{}') as body
    from pg_class c where c.relnamespace = ${schema}::regnamespace and c.relkind in ('r', 'p') order by c.relname`
  return rows.map(({ name, body, rls, forced, options }) =>
    [
      `create table ${schema}.${name} (\n${body.join(',\n')}\n)${options ? ` with (${options})` : ''};`,
      ...(rls ? [`alter table ${schema}.${name} enable row level security;`] : []),
      ...(forced ? [`alter table ${schema}.${name} force row level security;`] : []),
    ].join('\n'),
  )
}

/** Those that no constraint made. */
const indexes: Part = async (sql) =>
  text(
    await sql<{ line: string }[]>`
    select pg_get_indexdef(i.indexrelid) || ';' as line from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relnamespace = ${schema}::regnamespace and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
    order by c.relname`,
  )

const policies: Part = async (sql) =>
  text(
    await sql<{ line: string }[]>`
    select format(E'create policy %I on %I.%I as %s for %s to %s\n  using (%s)%s;', policyname, schemaname, tablename, lower(permissive),
      lower(cmd), array_to_string(roles, ', '), qual, coalesce(E'\n  with check (' || with_check || ')', '')) as line
    from pg_policies where schemaname = ${schema} order by tablename, policyname`,
  )

const functions: Part = async (sql) =>
  text(
    await sql<{ line: string }[]>`
    select rtrim(pg_get_functiondef(p.oid), E'\n ') || ';' as line from pg_proc p
    where p.pronamespace = ${schema}::regnamespace order by p.proname, pg_get_function_identity_arguments(p.oid)`,
  )

/** Whole tables, then columns: what each role may do. The owner may do everything and is left out. */
const grants: Part = async (sql) =>
  text(
    await sql<{ line: string }[]>`
    with granted as (
      select 0 as sort, c.relname as name, format('%I.%I', ${schema}::text, c.relname) as target, g.grantee, lower(g.privilege_type) as what
      from pg_class c, lateral aclexplode(c.relacl) g
      where c.relnamespace = ${schema}::regnamespace and c.relkind in ('r', 'p') and g.grantee <> c.relowner
      union all
      select 1, c.relname, format('%I.%I', ${schema}::text, c.relname), g.grantee,
        lower(g.privilege_type) || ' (' || string_agg(a.attname, ', ' order by a.attnum) || ')'
      from pg_class c join pg_attribute a on a.attrelid = c.oid, lateral aclexplode(a.attacl) g
      where c.relnamespace = ${schema}::regnamespace and g.grantee <> c.relowner group by c.oid, g.grantee, g.privilege_type
      union all
      select 2, p.proname, format('routine %s', p.oid::regprocedure), g.grantee, lower(g.privilege_type)
      from pg_proc p, lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g
      where p.pronamespace = ${schema}::regnamespace and g.grantee <> p.proowner
    )
    select format('grant %s on %s to %s;', string_agg(what, ', ' order by what), target,
      case when grantee = 0 then 'public' else grantee::regrole::text end) as line
    from granted group by sort, name, target, grantee order by sort, name, target, grantee::regrole::text`,
  )

/**
 * The sum of all migrations, read back from the catalogue of a migrated database: what reviewers see change. `src/db/schema.sql`
 * is this text; nothing runs it.
 *
 * @param sql whoever may read the catalogue
 */
export async function dumpSchema(sql: Sql): Promise<string> {
  const parts: [title: string, part: Part][] = [
    ['tables', tables],
    ['indexes', indexes],
    ['policies', policies],
    ['routines', functions],
    ['grants', grants],
  ]
  await sql`select set_config('search_path', '', false)` // names are written out
  const made = ['-- Read back from a migrated database by `npm run golden`. Nothing runs this file.']
  for (const [title, part] of parts)
    made.push(
      `-- ${title}`,
      (await part(sql)).join(title === 'grants' || title === 'indexes' ? '\n' : '\n\n'),
    )
  return `${made.join('\n\n')}\n`
}
