import postgres from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { databaseForFile } from '../harness/database.ts'
import { readColumns, serving } from './tenancy/catalogue.ts'

const database = await databaseForFile()
const sql = postgres(database.url, { onnotice: () => undefined })
const columns = await readColumns(sql)
afterAll(() => sql.end())

/** Columns whose names sound like a credential and are none. */
const harmless = [
  'users.password_changed_at',
  'devices.token_issued_at',
  'devices.hostname_key', // what lists sort by
  'release_assets.sha256', // of a file that everybody may have
  'audit_seal.hash', // of rows, to tell whether they changed
  'audit_heads_owed.hash',
  'device_inventory.hash', // of an inventory, to tell whether it changed
  'idempotency.key_hash', // of a name that a client gives to its request
  'idempotency.body_hash',
  'schedule_entries.key', // what an entry is for
]
/** Tables that hold nothing but credentials: the API reaches them through functions alone. */
const closed = [
  'refresh_families',
  'refresh_tokens',
  'mfa_challenges',
  'mfa_setups',
  'user_tokens',
  'sso_logins',
  'sso_codes',
  'sealing_keys',
]

const credentials = columns
  .map(({ table, name }) => ({ table, name, full: `${table}.${name}` }))
  .filter(
    ({ name, full }) =>
      /hash|sha256|secret|password|token|recovery|(^|_)key$/.test(name) && !harmless.includes(full),
  )

const readable = async (role: string, table: string, name: string) => {
  const [row] = await sql<
    { may: boolean }[]
  >`select has_column_privilege(${role}, ${`svc.${table}`}, ${name}, 'select') as may`
  return row?.may
}

test('the credential columns that matter are among those looked for', () => {
  expect(credentials.map(({ full }) => full)).toEqual(
    expect.arrayContaining([
      'users.password_hash',
      'users.totp_secret',
      'users.recovery_code_hashes',
      'devices.token_sha256',
      'devices.public_key',
      'enrollment_keys.key_hash',
      'api_keys.key_hash',
      'refresh_tokens.token_hash',
      'mfa_challenges.token_hash',
    ]),
  )
})

test('the API can read no credential, not even sealed or hashed', async () => {
  const open: string[] = []
  for (const { table, name, full } of credentials) if (await readable('svc_app', table, name)) open.push(full)
  expect(open).toEqual([])
})

test.each(credentials.map(({ full }) => full))('asked for %s, the API is refused', async (full) => {
  const [table = '', name = ''] = full.split('.')
  const asked = sql.begin(async (tx) => {
    await tx`set local role svc_app`
    await tx`select set_config('app.scope', '"system"', true)`
    await tx`select ${tx(name)} from svc.${tx(table)}`
  })
  await expect(asked).rejects.toMatchObject({ code: '42501' })
})

test.each(closed)('the API has no right of any kind on %s', async (table) => {
  const rights = await sql`
    select privilege_type from information_schema.column_privileges
    where table_schema = 'svc' and table_name = ${table} and grantee in ('svc_app', 'PUBLIC')
    union all select privilege_type from information_schema.table_privileges
    where table_schema = 'svc' and table_name = ${table} and grantee in ('svc_app', 'PUBLIC')`
  expect(rights).toEqual([])
})

test('serving roles may select, insert, update and delete, and nothing that row-level security does not see', async () => {
  const others = await sql`
    select grantee, table_name, privilege_type from information_schema.table_privileges
    where table_schema = 'svc' and grantee <> 'svc_owner'
      and (grantee <> all (${[...serving]}) or privilege_type not in ('SELECT', 'INSERT', 'UPDATE', 'DELETE'))`
  expect(others).toEqual([])
})

test.each(['audit_log', 'audit_seal', 'audit_unsealed'])(
  'what stands in %s cannot be added, changed or removed by whoever serves, but through functions',
  async (table) => {
    const rights = await sql`
      select grantee, privilege_type from information_schema.table_privileges
      where table_schema = 'svc' and table_name = ${table} and grantee <> 'svc_owner' and privilege_type <> 'SELECT'
      union all select grantee, privilege_type from information_schema.column_privileges
      where table_schema = 'svc' and table_name = ${table} and grantee <> 'svc_owner' and privilege_type <> 'SELECT'`
    expect(rights).toEqual([])
  },
)

test.each(serving)('%s owns nothing, creates nothing and bypasses nothing', async (role) => {
  const [facts] = await sql`
    select r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolcanlogin as strong,
      exists (select from pg_class c where c.relowner = r.oid) as owns,
      exists (select from pg_auth_members m where m.member = r.oid) as belongs,
      has_schema_privilege(r.oid, 'svc', 'create') or has_schema_privilege(r.oid, 'public', 'create') as creates
    from pg_roles r where r.rolname = ${role}`
  expect(facts).toEqual({ strong: false, owns: false, belongs: false, creates: false })
})
