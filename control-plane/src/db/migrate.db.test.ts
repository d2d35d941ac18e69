import { createHash, randomBytes } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { afterAll, afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { type Migration, MigrationError, migrate, readApplied, readMigrations } from './migrate.ts'

const admin = postgres(inject('databaseUrl'), { max: 1, onnotice: () => undefined })
let url = ''
let sql: Sql

beforeEach(async () => {
  const name = `svc_test_migrate_${randomBytes(4).toString('hex')}`
  await admin.unsafe(`create database ${name}`)
  const own = new URL(inject('databaseUrl'))
  own.pathname = `/${name}`
  url = own.href
  sql = postgres(url, { max: 1, onnotice: () => undefined })
})
afterEach(async () => {
  await sql.end()
  await admin.unsafe(`drop database ${new URL(url).pathname.slice(1)} with (force)`)
})
afterAll(() => admin.end())

const file = (name: string, text: string): Migration => ({
  name,
  text,
  checksum: createHash('sha256').update(text).digest('hex'),
})
const first = file('202601010000_a.sql', 'create table a (id int); insert into a values (1);')
const second = file('202601010100_b.sql', '-- two\ncreate table b (id int);')
const names = async () => (await readApplied(sql)).map(({ name }) => name)
const tableExists = async (name: string) =>
  (await sql`select to_regclass(${name}) as found`)[0]?.['found'] !== null

describe('migrations', () => {
  test('are applied in order, once', async () => {
    expect(await migrate(url, [first])).toEqual([first.name])
    expect(await migrate(url, [first, second])).toEqual([second.name])
    expect(await migrate(url, [first, second])).toEqual([])
    expect(await names()).toEqual([first.name, second.name])
  })

  test('are applied once by three that start together', async () => {
    const slow = file('202601010200_c.sql', 'select pg_sleep(0.3); create table c (id int);')
    const results = await Promise.all([1, 2, 3].map(() => migrate(url, [first, slow])))
    expect(results.flat().sort()).toEqual([first.name, slow.name])
    expect(await sql`select * from a`).toHaveLength(1)
  })

  test('that were changed after they were applied stop the start, by name', async () => {
    await migrate(url, [first, second])
    const changed = file(first.name, `${first.text} -- improved`)
    await expect(migrate(url, [changed, second])).rejects.toThrow(`${first.name} was changed`)
    await expect(migrate(url, [changed, second])).rejects.toBeInstanceOf(MigrationError)
  })

  test('that were applied and are gone stop the start, by name', async () => {
    await migrate(url, [first, second])
    await expect(migrate(url, [second])).rejects.toThrow(`${first.name} was applied, but its file is missing`)
  })

  test('newer than all of ours do not: the version before runs on the newer schema', async () => {
    await migrate(url, [first, second])
    expect(await migrate(url, [first])).toEqual([])
  })

  test('that come late, with an earlier name, are applied', async () => {
    await migrate(url, [second])
    expect(await migrate(url, [first, second])).toEqual([first.name])
  })

  test('that fail leave nothing behind, not even what came before the failure, and are named', async () => {
    const broken = file('202601010200_c.sql', 'create table c (id int); select 1/0;')
    await expect(migrate(url, [first, broken])).rejects.toThrow(
      `migration ${broken.name} failed: division by zero`,
    )
    expect(await names()).toEqual([first.name])
    expect(await tableExists('c')).toBe(false)
    expect(await migrate(url, [first, second])).toEqual([second.name])
  })

  test('that wait for a lock let others by every two seconds, and are applied once they have it', async () => {
    await migrate(url, [first])
    const [holder, reader] = [1, 2].map(() => postgres(url, { max: 1, onnotice: () => undefined }))
    if (!holder || !reader) throw new Error('there is nobody to wait for')
    await holder`begin`
    await holder`select from a`
    const locks = file('202601010300_d.sql', 'alter table a add column more int;')
    const applied = migrate(url, [first, locks])
    const waiting = () =>
      sql`select from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter table a%'`
    await expect.poll(async () => (await waiting()).length, { timeout: 20_000 }).toBe(1)
    // Behind the migration, which is behind the transaction that goes on.
    expect(await reader`select id from a`).toHaveLength(1)
    await holder`rollback`
    expect(await applied).toEqual([locks.name])
    await Promise.all([holder.end(), reader.end()])
  })

  test('marked so run outside of a transaction', async () => {
    const concurrent = file(
      '202601010200_c.sql',
      '-- no-transaction\ncreate index concurrently a_id on a (id);',
    )
    expect(await migrate(url, [first, concurrent])).toEqual([first.name, concurrent.name])
    expect(await tableExists('a_id')).toBe(true)
  })
})

test('the product’s own are applied by an installer who is no superuser', async () => {
  const installer = `installer_${randomBytes(4).toString('hex')}`
  await sql.unsafe(`create role ${installer} login createrole password 'x'`)
  const database = new URL(url).pathname.slice(1)
  await sql.unsafe(`grant create on database ${database} to ${installer}`)
  // As docs/operations.md has it. Where another migration of the cluster gets in the way, it has done what this one needs.
  await sql.unsafe(
    `do $$ begin grant set on parameter "app.scope" to ${installer} with grant option;
      exception when internal_error or unique_violation then null; end $$`,
  )
  // Roles are the cluster's: this one is made a manager of them, as if it had made them.
  for (const role of ['svc_owner', 'svc_app', 'svc_worker']) {
    await sql.unsafe(
      `do $$ begin create role ${role} nologin; exception when duplicate_object then null; end $$`,
    )
    await sql.unsafe(`grant ${role} to ${installer} with admin option`)
  }
  const as = new URL(url)
  as.username = installer
  as.password = 'x'
  expect(await migrate(as.href)).toEqual(readMigrations().map(({ name }) => name))
  await sql.unsafe(`drop owned by ${installer}`).catch(() => undefined)
})
