import { expect, test } from 'vitest'
import { readMigrations } from '../../src/db/migrate.ts'
import { readSources } from './layers/sources.ts'
import { tenantTables } from './tenancy/tables.ts'
import { deviceWall, unguarded } from './tenancy/unguarded.ts'

const tenant = tenantTables(
  readMigrations()
    .map(({ text }) => text)
    .join('\n'),
)
/**
 * Files that work for the whole fleet in scope `system`, started by the worker or a command and by no request: what the edge reports,
 * what is due, what is sealed. Nothing a caller sends reaches their conditions.
 */
const forTheWholeFleet = [
  'chain/rows',
  'chain/verify/entries',
  'chain/verify/strays',
  'events/lag',
  'events/relay',
  'schedule/due',
  'schedule/prune',
  'status/contact',
  'status/flapping',
  'status/watchdog',
  'status/sweep',
  'updates/rows',
  'work/claim',
  'work/expiry',
  'work/pending',
  'work/report-rows',
].map((name) => `control-plane/src/engines/${name}.ts`)
const bound = [...readSources()].filter(
  ([path]) =>
    /^control-plane\/src\/(areas|engines)\//.test(path) &&
    !path.endsWith('.test.ts') &&
    !forTheWholeFleet.includes(path),
)

test('every statement of areas and engines on a tenant table says what of it is visible', () => {
  expect(bound.map(([path]) => path)).toContain('control-plane/src/areas/fleet/devices/devices/queries.ts')
  expect(bound.flatMap(([path, text]) => unguarded(text, tenant).map((found) => `${path}:${found}`))).toEqual(
    [],
  )
})

test('files that are excepted exist and need it', () => {
  const sources = readSources()
  expect(forTheWholeFleet.filter((path) => unguarded(sources.get(path) ?? '', tenant).length === 0)).toEqual(
    [],
  )
})

/** Files that act on all devices of a tenant: no limit to sites and groups has a say in it, and nobody who has one gets there. */
const forAllDevices = [
  'areas/fleet/agents/queries', // how many the organization has, for its limit: asked by an agent
  'areas/tenancy/orgs/sites/queries', // what is left at a site that is given up: demands full access
  'engines/status/retire', // what is left of a tenant that is given up: the partner's or the platform's to do
].map((name) => `control-plane/src/${name}.ts`)
const devices = new Set(['devices'])
const unlimited = (text: string) => unguarded(text, devices, deviceWall)

test('every statement on devices says what of them the limits of a membership leave', () => {
  const found = bound.filter(([path]) => !forAllDevices.includes(path))
  expect(found.flatMap(([path, text]) => unlimited(text).map((line) => `${path}:${line}`))).toEqual([])
  const sources = readSources()
  expect(forAllDevices.filter((path) => unlimited(sources.get(path) ?? '').length === 0)).toEqual([])
  expect(unlimited("db.rows`select from devices d where ${db.visible('d')}`")).toHaveLength(1)
  expect(unlimited("db.rows`select from devices d where ${db.visibleDevice('d')}`")).toEqual([])
})

test('tenant tables are those with a column org_id', () => {
  expect([...tenant]).toEqual(
    expect.arrayContaining(['partners', 'devices', 'sites', 'commands', 'audit_log']),
  )
  expect([...tenant]).not.toContain('gateway_nodes')
})

const guarded =
  "export const find = (db: Db, id: string) => db.one`select 1 from devices d where ${db.visible('d')} and d.id = ${id}`"

test.each([
  ['a read', 'db.rows<Device>`select * from devices d where d.id = ${id}`'],
  ['a join', 'db.rows`select * from gateway_nodes n join svc.devices d on d.node = n.node`'],
  ['a comma join', 'db.rows`select * from gateway_nodes n, sites s where true`'],
  ['a change', 'db.run`update devices set hostname = ${name} where id = ${id}`'],
  ['a removal', 'db.run`delete from sites where id = ${id}`'],
  ['a subquery', 'db.one`insert into x select 1 where exists (select from organizations where id = ${id})`'],
  ['a nested fragment', 'db.one`select 1 ${all ? db.sql`from sites` : db.sql`from gateway_nodes`}`'],
  [
    'one with a condition that does not say it',
    'const mine = db.sql`d.id = 1`\nconst all = db.rows`select from devices d where ${mine(db)}`',
  ],
  [
    'one behind a string and a comment',
    `const it = 'a \\' \`' // don\`t\nconst that = db.one\`select from sites\``,
  ],
])('a statement without it is found: %s', (_, statement) => {
  expect(unguarded(statement, tenant)).toHaveLength(1)
  expect(unguarded(`${guarded}\n${statement}\n${guarded}`, tenant)).toHaveLength(1)
})

test.each([
  ['a statement that says it', guarded],
  [
    'one that says it in a fragment',
    'db.rows`select from devices d ${db.sql`where ${db.visibleDevice(`d`)}`}`',
  ],
  [
    'one that shares a condition',
    "const mine = (db: Db) => db.sql`d.deleted_at is null and ${db.visible('d')}`\nconst all = db.rows`select from devices d where ${mine(db)}`",
  ],
  ['an insert of values', 'db.run`insert into sites (id) values (${id}) on conflict do nothing`'],
  ['a table without tenants', 'db.rows`select from gateway_nodes`'],
])('a statement in order is left alone: %s', (_, statement) => {
  expect(unguarded(statement, tenant)).toEqual([])
})
