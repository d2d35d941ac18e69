import postgres, { type Sql } from 'postgres'
import { v7 as uuid } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseForFile, type TestDatabase } from '../../../../../test/harness/database.ts'
import { type Database, openPool } from '../../../../adapters/postgres.ts'
import { inTransaction, readerDb } from '../../../../kernel/db.ts'
import type { Scope } from '../../../../kernel/tenancy.ts'
import { type DevicePage, devicePage, listDevices } from './queries.ts'
import type { DeviceSort, Position } from './schema.ts'

const fleet = 100_000
const pageSize = 50
const far = 1_000 * pageSize
const indexOf = {
  hostname: 'devices_hostname',
  lastSeen: 'devices_last_seen',
  enrolled: 'devices_enrolled',
} as const
const orders = (['hostname', 'lastSeen', 'enrolled'] as const).flatMap((sort) =>
  (['asc', 'desc'] as const).map((dir) => ({ sort, dir })),
)

let admin: Sql
let database: TestDatabase
let pool: Database
const partnerId = uuid()
const scope: Scope = { kind: 'tenant', partnerId, orgs: 'all' }

beforeAll(async () => {
  database = await databaseForFile()
  const { url } = database
  admin = postgres(url, { connection: { search_path: 'svc' }, max: 1, onnotice: () => undefined })
  pool = openPool({ url, role: 'svc_app', max: 1, name: 'plan test' })
  const [orgId, siteId] = [uuid(), uuid()]
  await admin`insert into partners (id, name, slug) values (${partnerId}, 'P', 'p')`
  await admin`insert into organizations (id, partner_id, name, slug) values (${orgId}, ${partnerId}, 'O', 'o')`
  await admin`insert into sites (id, partner_id, org_id, name) values (${siteId}, ${partnerId}, ${orgId}, 'S')`
  // Half as many names as devices, a third of them online, some never seen, some never enrolled.
  await admin`insert into devices (id, partner_id, org_id, site_id, hostname, os_type, connectivity, offline_seen_at, enrolled_at)
    select gen_random_uuid(), ${partnerId}, ${orgId}, ${siteId}, 'Host-' || (n * 7919 % ${fleet / 2}), 'linux',
      case when n % 3 = 0 then 'online' else 'offline' end,
      case when n % 5 > 0 then now() - n * interval '1 second' end,
      case when n % 7 > 0 then now() - n * interval '1 minute' end
    from generate_series(1, ${fleet}) n`
  await admin`insert into device_presence (device_id, partner_id, org_id) select id, partner_id, org_id from devices`
  await admin.unsafe('vacuum analyze devices, device_presence')
}, 120_000)

afterAll(() => Promise.all([admin.end(), pool.end()]))

/** The place after which page 1,000 begins. */
async function thousandth(sort: DeviceSort, dir: 'asc' | 'desc'): Promise<Position> {
  const key = { hostname: 'hostname_key', lastSeen: 'last_seen_rank', enrolled: 'enrolled_rank' }[sort]
  const [row] = await admin.unsafe<{ key: string; id: string }[]>(
    `select ${key}::text as key, id from devices order by ${key} ${dir}, id ${dir} offset ${far - 1} limit 1`,
  )
  if (!row) throw new Error('the fleet is too small')
  return row
}

const page = (sort: DeviceSort, dir: 'asc' | 'desc', after?: Position): DevicePage => ({
  filter: { includeDecommissioned: false },
  sort,
  dir,
  after,
  limit: pageSize,
})

interface Node {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Node[]
}

const flat = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(flat)]

async function explain(wanted: DevicePage): Promise<Node> {
  const [row] = await inTransaction(
    pool,
    scope,
    (db) =>
      db.rows<{ 'QUERY PLAN'?: [{ Plan: Node }] } & Record<string, [{ Plan: Node }]>>`
      explain (analyze, buffers, timing off, format json) ${devicePage(db, wanted).fragment}`,
  )
  const [plan] = Object.values(row ?? {})
  if (!plan) throw new Error('no plan')
  return plan[0].Plan
}

const blocks = (node: Node) => node['Shared Hit Blocks'] + node['Shared Read Blocks']

test.each(orders)(
  'by $sort $dir, page 1,000 is cut from the index and touches as many blocks as page 1',
  async ({ sort, dir }) => {
    await explain(page(sort, dir)) // warms the catalogue: its blocks are not the page's
    const first = await explain(page(sort, dir))
    const last = await explain(page(sort, dir, await thousandth(sort, dir)))
    const nodes = flat(last)
    const devices = nodes.filter((node) => node['Relation Name'] === 'devices')
    expect(devices.map((node) => node['Index Name'])).toEqual([indexOf[sort]])
    expect(devices[0]?.['Index Cond']).toMatch(/partner_id = .* AND \(ROW\(/)
    expect(nodes.map((node) => node['Node Type']).filter((type) => type.includes('Sort'))).toEqual([])
    expect(blocks(last)).toBeLessThan(blocks(first) * 1.3 + 20)
  },
)

/** Index entries read so far, once the pool's one connection has told its counts. */
async function entriesRead(index: string): Promise<number> {
  await pool`select pg_stat_force_next_flush()`
  const [row] = await admin<{ read: number }[]>`
    select idx_tup_read::int as read from pg_stat_user_indexes where indexrelname = ${index}`
  return row?.read ?? 0
}

test.each(orders)(
  'by $sort $dir, a read that brings its scope along reads one page of index entries, prepared plans too',
  async ({ sort, dir }) => {
    const db = readerDb(pool, scope)
    const wanted = page(sort, dir, await thousandth(sort, dir))
    const runs = 12 // from the sixth on Postgres may prefer a generic plan
    const before = await entriesRead(indexOf[sort])
    for (let run = 0; run < runs; run++) expect((await listDevices(db, wanted)).next).toBeDefined()
    const read = (await entriesRead(indexOf[sort])) - before
    expect(read).toBeGreaterThanOrEqual(runs * (pageSize + 1))
    expect(read).toBeLessThan(runs * (pageSize + 1) * 1.2)
  },
)

test('a page of a usual size is planned for good, one of another size each time anew', async () => {
  const plans = async (limit: number) => {
    const { url } = database
    const fresh = openPool({ url, role: 'svc_app', max: 1, name: 'plan test' })
    const db = readerDb(fresh, scope)
    for (let run = 0; run < 8; run++) await listDevices(db, { ...page('hostname', 'asc'), limit })
    const [row] = await fresh<{ generic: number; custom: number }[]>`
      select generic_plans::int as generic, custom_plans::int as custom from pg_prepared_statements
      where statement like '%string_agg%' and generic_plans + custom_plans = 8`
    await fresh.end()
    return row
  }
  expect(await plans(pageSize)).toEqual({ generic: 3, custom: 5 })
  expect(await plans(pageSize + 1)).toEqual({ generic: 0, custom: 8 })
})
