import postgres, { type Sql } from 'postgres'
import { v7 as uuid } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseForFile } from '../../../../../test/harness/database.ts'
import { type Database, openPool } from '../../../../adapters/postgres.ts'
import { readerDb } from '../../../../kernel/db.ts'
import type { Scope } from '../../../../kernel/tenancy.ts'
import type { Filter } from './schema.ts'
import { findPage } from './service.ts'
import { nearRows } from './windows/queries.ts'

const rows = 20_000
const limit = 50
/** Have a word that none of the newest has. */
const many = 4_000
const [partnerId, busy, quiet, former] = [uuid(), uuid(), uuid(), uuid()]
const everything: Scope = { kind: 'tenant', partnerId, orgs: 'all' }
const ofQuiet: Scope = { kind: 'tenant', partnerId, orgs: [quiet] }
let admin: Sql
let pool: Database

beforeAll(async () => {
  const { url } = await databaseForFile()
  admin = postgres(url, { connection: { search_path: 'svc' }, max: 1, onnotice: () => undefined })
  pool = openPool({ url, role: 'svc_app', max: 1, name: 'plan test' })
  // The five oldest have an action, an actor, an organization and a name of their own.
  await admin`
    insert into audit_log (id, at, partner_id, org_id, actor_type, actor_id, action, resource_name, result)
    select gen_random_uuid(), now() - make_interval(secs => n), ${partnerId},
      case when n > ${rows - 5} then ${quiet}::uuid else ${busy}::uuid end, 'user',
      case when n > ${rows - 5} then ${former}::uuid else gen_random_uuid() end,
      case when n > ${rows - 5} then 'partner.update' when n % 2 = 0 then 'site.update' else 'role.update' end,
      case when n > ${rows - 5} then 'heirloom' when n > ${rows - 2 * many} and n % 2 = 0 then 'old thing' else 'thing ' || n end, 'success'
    from generate_series(1, ${rows}) n`
  await admin.unsafe('vacuum analyze audit_log, audit_words')
}, 60_000)

afterAll(() => Promise.all([admin.end(), pool.end()]))

interface Reads {
  sequential: number
  entries: number
}

/** Rows that were read by going through a table, and entries of its indexes, so far; of the log and of its words. */
async function readsSoFar(): Promise<Reads> {
  await pool`select pg_stat_force_next_flush()`
  const [row] = await admin<Reads[]>`
    select sum(t.seq_tup_read)::int as sequential,
      (select sum(i.idx_tup_read)::int from pg_stat_user_indexes i where i.relname in ('audit_log', 'audit_words')) as entries
    from pg_stat_user_tables t where t.relname in ('audit_log', 'audit_words')`
  if (!row) throw new Error('no statistics')
  return row
}

/** As prepared statements: from the sixth on Postgres may prefer a plan for all values. */
async function readsOf(filter: Filter, scope: Scope = everything, times = 7) {
  const db = readerDb(pool, scope)
  const before = await readsSoFar()
  let found = 0
  for (let time = 0; time < times; time++) found = (await findPage(db, filter, limit)).rows.length
  const after = await readsSoFar()
  return {
    found,
    sequential: after.sequential - before.sequential,
    entries: (after.entries - before.entries) / times,
  }
}

test.each<[string, Filter, Scope, number]>([
  ['the newest', {}, everything, limit],
  ['an action that only the oldest have', { action: ['partner.update'] }, everything, 5],
  ['an actor who only the oldest have', { actor: former }, everything, 5],
  ['an organization that only the oldest have', { orgId: quiet }, everything, 5],
  ['a member of that organization', {}, ofQuiet, 5],
  ['a member of that organization, and what is elsewhere', { action: ['site.update'] }, ofQuiet, 0],
  ['a word that only the oldest have', { q: 'heirloom' }, everything, 5],
  ['words that nothing has together', { q: 'heirloom site' }, everything, 0],
  ['a name that only the oldest have', { resource: 'Heirloom' }, everything, 5],
  ['a word that half have, in an organization that has none', { q: 'role' }, ofQuiet, 0],
])('%s: no table is gone through, and few entries are read', async (_, filter, scope, due) => {
  const { found, sequential, entries } = await readsOf(filter, scope)
  expect(found).toBe(due)
  expect(sequential).toBe(0)
  // The newest are looked at for what is common; then the words are asked.
  expect(entries).toBeLessThan(filter.q || filter.resource ? 3 * nearRows : 4 * limit)
})

test('what is long ago and has no index of its own costs one window and no more, and the words find it', async () => {
  const { found, entries } = await readsOf({ action: ['partner.update', 'partner.delete'] }, everything, 1)
  expect(found).toBe(5)
  expect(entries).toBeLessThan(3 * 10_000)
})

test('of what a word finds only the newest rows are fetched', async () => {
  const { found, entries } = await readsOf({ q: 'old' })
  expect(found).toBe(limit)
  // The newest and their words, what has the word (once to look among the newest, too), and a page.
  expect(entries).toBeLessThan(2 * nearRows + 2 * many + 4 * limit)
})

test('without the indexes it would be seen', async () => {
  await admin`drop index audit_log_of_action, audit_words_found`
  const lost = await readsOf({ action: ['partner.update'] })
  expect(lost.sequential + lost.entries).toBeGreaterThan(4 * limit)
  const words = await readsOf({ q: 'heirloom' }, everything, 1)
  expect(words.sequential + words.entries).toBeGreaterThan(4 * limit)
})
