import type { Sql } from 'postgres'
import type { Column } from './catalogue.ts'

/** To whom a sample row belongs; org null: to the partner itself. */
export interface Owner {
  partner: string
  org: string | null
}

const values: Record<string, (n: number) => unknown> = {
  uuid: () => crypto.randomUUID(),
  text: (n) => `sample-${n}`,
  bytea: (n) => Buffer.from(`sample-${n}`),
  boolean: () => false,
  jsonb: () => ({}),
  inet: () => '192.0.2.1',
  'timestamp with time zone': () => new Date(),
  'text[]': () => [],
  'uuid[]': () => [],
  'bytea[]': () => [],
  smallint: (n) => n,
  integer: (n) => n,
  bigint: (n) => n,
  real: (n) => n,
}

let serial = 0

function valueOf({ type }: Column): unknown {
  const make = values[type]
  if (!make) throw new Error(`no sample of a ${type}`)
  return make(++serial)
}

/** A row that has its owner and what must not be null. Where the owner follows from the id, the id is the owner's. */
export function sampleRow(columns: readonly Column[], { partner, org }: Owner): Record<string, unknown> {
  const generated = (name: string) => columns.some((column) => column.name === name && column.generated)
  const own: Record<string, unknown> = { partner_id: partner, org_id: org }
  if (generated('partner_id')) own['id'] = partner
  else if (generated('org_id') && org && columns.some(({ name }) => name === 'id')) own['id'] = org
  const given = columns.filter(({ name, required, generated }) => !generated && (name in own || required))
  return Object.fromEntries(
    given.map((column) => [column.name, own[column.name] ?? (column.name in own ? null : valueOf(column))]),
  )
}

export const insertRow = (sql: Sql, table: string, row: Record<string, unknown>) =>
  sql`insert into svc.${sql(table)} ${sql(row as Record<string, string>)}`

/** Makes a throw-away database take any row and show any table: from here on row-level security alone says no. */
export async function leaveOnlyTheWall(sql: Sql, roles: readonly string[]): Promise<void> {
  const constraints = await sql<{ table: string; name: string }[]>`
    select conrelid::regclass::text as table, conname as name from pg_constraint
    where connamespace = 'svc'::regnamespace and contype in ('c', 'f')
    order by contype desc`
  for (const { table, name } of constraints) await sql.unsafe(`alter table ${table} drop constraint ${name}`)
  for (const role of roles)
    await sql.unsafe(`grant select, insert, update, delete on all tables in schema svc to ${role}`)
}
