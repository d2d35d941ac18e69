import type { Sql } from 'postgres'

/** The roles that serve requests and background work. */
export const serving = ['svc_app', 'svc_worker'] as const

export interface Column {
  table: string
  name: string
  type: string
  required: boolean
  generated: boolean
}

/** Every column of every table in schema `svc`, as the database has them. */
export const readColumns = (sql: Sql) => sql<Column[]>`
  select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
    a.attnotnull and not a.atthasdef and a.attidentity = '' as required,
    a.attgenerated <> '' or a.attidentity <> '' as generated
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  where c.relnamespace = 'svc'::regnamespace and c.relkind in ('r', 'p')
  order by c.relname, a.attnum`

/** Tables by name, each with its columns. */
export async function readTables(sql: Sql): Promise<Map<string, Column[]>> {
  const tables = new Map<string, Column[]>()
  for (const column of await readColumns(sql))
    tables.set(column.table, [...(tables.get(column.table) ?? []), column])
  return tables
}

export const has = (columns: readonly Column[] | undefined, name: string) =>
  columns?.some((column) => column.name === name) ?? false
