import postgres, { type TransactionSql } from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMigrations } from '../../src/db/migrate.ts'
import { scopeText } from '../../src/kernel/scope.ts'
import type { Scope } from '../../src/kernel/tenancy.ts'
import { databaseForFile } from '../harness/database.ts'
import { has, readTables, serving, type Column } from './tenancy/catalogue.ts'
import { insertRow, leaveOnlyTheWall, sampleRow, type Owner } from './tenancy/sample-rows.ts'
import { tenantTables } from './tenancy/tables.ts'

/** Tables with a partner that no policy guards, because the API has no grant on them at all. */
const withoutGrant = ['refresh_families', 'audit_words']
/** Tables whose rows are one caller's own, whatever organizations that caller sees: the partner alone decides. */
const ofPartner = ['idempotency']

const database = await databaseForFile()
const sql = postgres(database.url, { onnotice: () => undefined })
const tables = await readTables(sql)
const tenant = [...tables].filter(
  ([name, columns]) => has(columns, 'partner_id') && !withoutGrant.includes(name),
)
afterAll(() => sql.end())

const [first, second] = [crypto.randomUUID(), crypto.randomUUID()]
const [orgA, orgB, orgF] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
const owners: Owner[] = [
  { partner: first, org: orgA },
  { partner: first, org: orgB },
  { partner: first, org: null },
  { partner: second, org: orgF },
  { partner: second, org: null },
]

/** What the wall lets a scope see, told apart from what it does. */
function sees(scope: Scope, { partner, org }: Owner, table: string): boolean {
  if (scope.kind !== 'tenant') return scope.kind === 'system'
  if (partner !== scope.partnerId) return false
  if (scope.orgs === 'all' || ofPartner.includes(table)) return true
  return org === null ? scope.partnerLevel === true : scope.orgs.includes(org)
}

const scopes: [string, Scope][] = [
  ['nobody', { kind: 'nobody' }],
  ['system', { kind: 'system' }],
  ['all of a partner', { kind: 'tenant', partnerId: first, orgs: 'all' }],
  ['one organization', { kind: 'tenant', partnerId: first, orgs: [orgA] }],
  ['selected organizations', { kind: 'tenant', partnerId: first, orgs: [orgA, orgB] }],
  ['the partner’s own level', { kind: 'tenant', partnerId: first, orgs: [], partnerLevel: true }],
  ['an organization of somebody else', { kind: 'tenant', partnerId: first, orgs: [orgF] }],
  ['no organization', { kind: 'tenant', partnerId: first, orgs: [] }],
]

/** Runs `work` as a serving role and takes back what it did. @param scope undefined: the setting was never made */
async function as<T>(
  role: string,
  scope: Scope | undefined,
  work: (tx: TransactionSql) => Promise<T>,
): Promise<T> {
  const undo = new Error('undo')
  const done: { value?: T } = {}
  await sql
    .begin(async (tx) => {
      await tx.unsafe(`set local role ${role}`)
      if (scope) await tx`select set_config('app.scope', ${scopeText(scope)}, true)`
      done.value = await work(tx)
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return done.value as T
}

interface Row extends Owner {
  ctid: string
}
async function rowsOf(on: TransactionSql | typeof sql, table: string): Promise<Row[]> {
  const org = has(tables.get(table), 'org_id') ? on`org_id` : on`null::uuid`
  return [
    ...(await on<
      Row[]
    >`select ctid::text, partner_id as partner, ${org} as org from svc.${on(table)} order by ctid`),
  ]
}

describe('declared', () => {
  test('every table with a partner has row-level security enabled and forced, and the tenant policy', async () => {
    const rows = await sql<{ table: string; forced: boolean; policies: string[] }[]>`
      select c.relname as table, c.relrowsecurity and c.relforcerowsecurity as forced,
        coalesce((select array_agg(p.policyname || ' ' || p.cmd order by p.policyname) from pg_policies p
          where p.schemaname = 'svc' and p.tablename = c.relname), '{}') as policies
      from pg_class c where c.relnamespace = 'svc'::regnamespace and c.relname = any (${tenant.map(([name]) => name)})`
    expect(rows.length).toBeGreaterThan(15)
    expect(rows.filter(({ forced, policies }) => !forced || !policies.includes('tenant ALL'))).toEqual([])
    expect(rows.filter(({ policies }) => policies.length > 1).map(({ table }) => table)).toEqual(['partners'])
  })

  test('the policy is word for word the same on all of them', async () => {
    const texts = await sql<{ tables: string[] }[]>`
      select qual as text, array_agg(tablename::text order by tablename) as tables from pg_policies
      where schemaname = 'svc' and policyname = 'tenant' and with_check is null and permissive = 'PERMISSIVE'
      group by qual order by cardinality(array_agg(tablename)) desc`
    expect(
      texts
        .slice(1)
        .flatMap((row) => row.tables)
        .toSorted(),
    ).toEqual([...ofPartner, 'partners'])
  })

  test('a table of tenants names partner and organization; the static test knows the same tables', async () => {
    const withOrg = [...tables].filter(([, columns]) => has(columns, 'org_id')).map(([name]) => name)
    const ddl = readMigrations()
      .map(({ text }) => text)
      .join('\n')
    expect([...tenantTables(ddl)].toSorted()).toEqual(withOrg.toSorted())
    const half = [...tables].filter(([, columns]) => has(columns, 'partner_id') !== has(columns, 'org_id'))
    expect(half.map(([name]) => name)).toEqual(ofPartner)
  })

  test('views obey the policies of whoever asks, and there is nothing that ignores them', async () => {
    const views = await sql<{ name: string }[]>`
      select relname as name from pg_class where relnamespace = 'svc'::regnamespace
        and (relkind = 'm' or (relkind = 'v' and not coalesce(reloptions @> '{security_invoker=true}', false)))`
    expect(views).toEqual([])
  })
})

describe('with every grant given, the wall alone', () => {
  beforeAll(async () => {
    await leaveOnlyTheWall(sql, serving)
    for (const [name, columns] of tenant) {
      for (const owner of distinct(columns)) await insertRow(sql, name, sampleRow(columns, owner))
    }
  })

  /** Owners whose rows are different ones in this table: some tables have no organization of their own. */
  function distinct(columns: readonly Column[]): Owner[] {
    const generated = (name: string) => columns.some((column) => column.name === name && column.generated)
    const partnerOnly = !has(columns, 'org_id') || (generated('org_id') && !has(columns, 'id'))
    if (generated('partner_id') || partnerOnly) return owners.filter(({ org }) => org === null)
    const nullable = columns.some(({ name, required }) => name === 'org_id' && !required)
    return generated('org_id') || !nullable ? owners.filter(({ org }) => org !== null) : owners
  }

  test.each(serving)('%s sees nothing where no scope was ever set', async (role) => {
    for (const [name] of [...tenant, ['users'] as const]) {
      const rows = await as(role, undefined, (tx) => tx`select from svc.${tx(name)}`)
      expect([name, rows.count]).toEqual([name, 0])
    }
  })

  test.each(scopes)('scope of %s shows its rows and no others', async (_, scope) => {
    for (const [name] of tenant) {
      const all = await rowsOf(sql, name)
      expect(new Set(all.map(({ partner }) => partner))).toEqual(new Set([first, second]))
      // All of a partner's people may read what the partner is called.
      const expected = all.filter((row) =>
        name === 'partners' && scope.kind === 'tenant'
          ? row.partner === scope.partnerId
          : sees(scope, row, name),
      )
      for (const role of serving) {
        expect([name, role, await as(role, scope, (tx) => rowsOf(tx, name))]).toEqual([name, role, expected])
      }
    }
  })

  test.each(scopes)('scope of %s changes and removes its rows and no others', async (_, scope) => {
    for (const [name, columns] of tenant) {
      const expected = (await rowsOf(sql, name)).filter((row) => sees(scope, row, name)).length
      const column = columns.find(({ generated }) => !generated)?.name ?? ''
      const changed = await as(
        'svc_app',
        scope,
        (tx) => tx`update svc.${tx(name)} set ${tx(column)} = ${tx(column)}`,
      )
      const removed = await as('svc_app', scope, (tx) => tx`delete from svc.${tx(name)}`)
      expect([name, changed.count, removed.count]).toEqual([name, expected, expected])
    }
  })

  test.each(scopes)('scope of %s adds rows to what it sees and nowhere else', async (_, scope) => {
    for (const [name, columns] of tenant) {
      // A partner cannot be its own guard: the row that makes it is not there yet.
      for (const owner of distinct(columns)) {
        const fresh = name === 'partners' || name === 'organizations' ? undefined : sampleRow(columns, owner)
        if (!fresh) continue
        const outcome = as('svc_app', scope, async (tx) => {
          await insertRow(tx as unknown as typeof sql, name, fresh)
          return 'added'
        }).catch((error: { code: string }) => error.code)
        expect([name, owner, await outcome]).toEqual([
          name,
          owner,
          sees(scope, owner, name) ? 'added' : '42501',
        ])
      }
    }
  })

  test('a row cannot be handed to another tenant', async () => {
    const mine: Scope = { kind: 'tenant', partnerId: first, orgs: [orgA] }
    for (const [name, columns] of tenant.filter(
      ([, c]) => !c.some(({ name, generated }) => name.endsWith('_id') && generated),
    )) {
      const change = has(columns, 'org_id') ? { partner_id: second, org_id: orgF } : { partner_id: second }
      const outcome = as('svc_app', mine, (tx) => tx`update svc.${tx(name)} set ${tx(change)}`)
      await expect(outcome, name).rejects.toMatchObject({ code: '42501' })
    }
  })
})
