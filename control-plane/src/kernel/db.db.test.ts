import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testApp } from '../../test/harness/app.ts'
import type { Device } from '../../test/harness/make.ts'
import { type Database, openPool } from '../adapters/postgres.ts'
import { inTransaction, readerDb, workerDb } from './db.ts'
import type { Db, Scope } from './tenancy.ts'

const { make, url, owner } = await testApp()
const tenants = 100
const devices: Device[] = []
let pool: Database
beforeAll(async () => {
  pool = openPool({ url, role: 'svc_app', max: 3, name: 'tenancy' })
  for (let n = 0; n < tenants; n++) devices.push(await make.device(undefined, { hostname: `host-${n}` }))
  await owner`analyze` // plans as for a table that is known
})
afterAll(() => pool.end())

const nobody: Scope = { kind: 'nobody' }
const system: Scope = { kind: 'system' }
const whole = ({ partnerId }: Device): Scope => ({ kind: 'tenant', partnerId, orgs: 'all' })
const oneOrg = ({ partnerId, orgId }: Device): Scope => ({ kind: 'tenant', partnerId, orgs: [orgId] })
const device = (n: number) => devices[n] as Device
const read = (scope: Scope) => readerDb(pool, scope)
const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).sort()
const allIds = () => ids(devices)

/** The second wall alone: the query says nothing about tenants. */
const bare = (db: Db) => db.rows<{ id: string }>`select d.id from devices d`

describe('the second wall alone', () => {
  test('shows a tenant what is its own', async () => {
    expect(ids(await bare(read(whole(device(0)))))).toEqual([device(0).id])
    expect(ids(await bare(read(oneOrg(device(1)))))).toEqual([device(1).id])
  })

  test('shows nothing to nobody, and everything to the system', async () => {
    expect(await bare(read(nobody))).toEqual([])
    expect(ids(await bare(read(system)))).toEqual(allIds())
  })

  test('shows nothing to a statement that never set a scope, also after one that did', async () => {
    const single = openPool({ url, role: 'svc_app', max: 1, name: 'single' })
    expect(await single`select id from devices`).toHaveLength(0) // the setting was never there: NULL
    expect(await bare(readerDb(single, whole(device(0))))).toHaveLength(1)
    expect(await single`select id from devices`).toHaveLength(0) // the setting is over: ''
    await inTransaction(single, whole(device(0)), async (db) => expect(await bare(db)).toHaveLength(1))
    expect(await single`select id from devices`).toHaveLength(0)
    await inTransaction(single, whole(device(0)), () => Promise.reject(new Error('rolled back'))).catch(
      () => undefined,
    )
    expect(await single`select id from devices`).toHaveLength(0)
    await single.end()
  })

  test('holds in joins, counts, subqueries and common table expressions', async () => {
    const db = read(whole(device(2)))
    const joined = await db.rows<{ id: string; org: string }>`
      select d.id, o.name as org from devices d join organizations o on o.id = d.org_id join sites s on s.id = d.site_id
      join device_presence p on p.device_id = d.id order by d.id`
    expect(ids(joined)).toEqual([device(2).id])
    expect(await db.one`select count(*) as n, max(hostname) as host from devices`).toEqual({
      n: 1,
      host: 'host-2',
    })
    expect(await db.one`select (select count(*) from organizations) as n`).toEqual({ n: 1 })
    const expression = await db.rows<{
      id: string
    }>`with mine as (select id from devices) select id from mine`
    expect(ids(expression)).toEqual([device(2).id])
    expect(
      await db.rows`select o.id, d.id from organizations o left join devices d on d.org_id = o.id`,
    ).toHaveLength(1)
  })

  test.each(['force_custom_plan', 'force_generic_plan'])(
    'holds with prepared statements and %s',
    async (mode) => {
      const planned = openPool({ url, role: 'svc_app', max: 1, name: 'plans' })
      await planned.unsafe(`set plan_cache_mode = ${mode}`)
      for (let round = 0; round < 8; round++) {
        const own = device(round)
        expect(ids(await bare(readerDb(planned, whole(own))))).toEqual([own.id])
        const named = await readerDb(planned, whole(own)).rows<{ id: string }>`
        select d.id from devices d where d.hostname = ${own.hostname} or d.hostname = ${device(round + 1).hostname}`
        expect(ids(named)).toEqual([own.id])
      }
      await planned.end()
    },
  )

  test.each([
    ['the usual plans', []],
    ['no nested loops', ['enable_nestloop']],
    ['merge joins', ['enable_nestloop', 'enable_hashjoin']],
    ['hash joins', ['enable_nestloop', 'enable_mergejoin']],
  ])('is set before any table is read, however a join is planned: %s', async (_plans, off) => {
    const planned = openPool({ url, role: 'svc_app', max: 1, name: 'joins' })
    for (const method of off) await planned.unsafe(`set ${method} = off`)
    const own = device(3)
    const db = readerDb(planned, whole(own))
    const byId = db.rows<{ id: string }>`
        select d.id, o.name from devices d join organizations o on o.id = d.org_id where d.id = ${own.id}`
    const byHost = db.rows<{ id: string }>`
        select d.id from devices d join device_presence p on p.device_id = d.id where d.hostname = ${own.hostname}`
    expect([ids(await byId), ids(await byHost)]).toEqual([[own.id], [own.id]])
    const shapes = [
      db.rows<{ id: string }>`
        select d.id, o.name from organizations o left join devices d on d.org_id = o.id left join sites s on s.id = d.site_id`,
      db.rows<{
        id: string
      }>`select id from devices union all select id from devices where false union select id from devices`,
      db.rows<{
        id: string
      }>`select id from devices union all select device_id from device_presence where false`,
      db.rows<{
        id: string
      }>`select distinct d.id from devices d where exists (select from sites s where s.id = d.site_id) order by d.id limit 5`,
      db.rows<{ id: string }>`
        select d.id from (select id, row_number() over (order by hostname) from devices) d, lateral (select from sites limit 1) s`,
      db.rows<{ id: string }>`
        with recursive mine as (select id from devices union select m.id from mine m join devices d on d.id = m.id) select id from mine`,
      db.rows<{ id: string }>`select (array_agg(id))[1] as id from devices having count(*) > 0`,
      db.rows<{ id: string }>`select (select id from devices limit 1) as id`,
      db.rows<{
        id: string
      }>`select id from devices where id in (select device_id from device_presence) limit (select count(*) from devices)`,
    ]
    for (const shape of await Promise.all(shapes)) expect(ids(shape)).toEqual([own.id])
    await planned.end()
  })

  test('refuses to write another tenant’s row', async () => {
    const into = (scope: Scope, { partnerId, orgId, siteId }: Device) =>
      inTransaction(
        pool,
        scope,
        (db) => db.run`
        insert into devices (id, partner_id, org_id, site_id, hostname, os_type)
        values (gen_random_uuid(), ${partnerId}, ${orgId}, ${siteId}, 'x', 'linux')`,
      )
    await expect(into(whole(device(0)), device(1))).rejects.toMatchObject({ code: '42501' })
    await expect(into(nobody, device(1))).rejects.toMatchObject({ code: '42501' })
    const touched = await inTransaction(
      pool,
      whole(device(0)),
      (db) => db.run`
      update devices set display_name = 'mine' where id = ${device(1).id}`,
    )
    expect(touched).toBe(0)
  })
})

describe('the first wall alone', () => {
  const walled = (db: Db) => db.rows<{ id: string }>`select d.id from devices d where ${db.visible('d')}`

  test('shows a tenant what is its own, where the second stands open', async () => {
    const open = openPool({ url, max: 2, name: 'superuser' })
    expect(ids(await walled(readerDb(open, whole(device(0)))))).toEqual([device(0).id])
    expect(ids(await walled(readerDb(open, oneOrg(device(1)))))).toEqual([device(1).id])
    expect(await walled(readerDb(open, nobody))).toEqual([])
    expect(ids(await walled(readerDb(open, system)))).toEqual(allIds())
    await open.end()
  })

  test('keeps an organization’s people out of their partner’s other organizations', async () => {
    const own = await make.device()
    const other = await make.device(await make.site(await make.org(own.partnerId)))
    expect(ids(await walled(read(oneOrg(own))))).toEqual([own.id])
    expect(ids(await walled(read(whole(own))))).toEqual(ids([own, other]))
    expect(await walled(read({ kind: 'tenant', partnerId: own.partnerId, orgs: [] }))).toEqual([])
    expect(
      await walled(read({ kind: 'tenant', partnerId: own.partnerId, orgs: [], partnerLevel: true })),
    ).toEqual([])
  })

  test('keeps to sites and groups where the caller is kept to them', async () => {
    const site = await make.site()
    const [here, there] = [await make.device(site), await make.device(await make.site(site))]
    const groupId = await make.group(site, [there.id])
    const limited = (limits: object) => read({ ...oneOrg(here), ...limits } as Scope)
    const seen = async (db: Db) => [
      ids(await db.rows<{ id: string }>`select d.id from devices d where ${db.visibleDevice('d')}`),
      ids(
        await db.rows<{ id: string }>`
        select p.device_id as id from device_presence p where ${db.visibleDevice('p', 'device_id')}`,
      ),
    ]
    expect(await seen(limited({ siteIds: [site.siteId] }))).toEqual([[here.id], [here.id]])
    expect(await seen(limited({ deviceGroupIds: [groupId] }))).toEqual([[there.id], [there.id]])
    expect(await seen(limited({ siteIds: [site.siteId], deviceGroupIds: [groupId] }))).toEqual([[], []])
    expect(await seen(limited({ siteIds: [] }))).toEqual([[], []])
    expect((await seen(limited({})))[0]).toEqual(ids([here, there]))
  })
})

test('a hundred tenants at once over three connections never see a foreign row', {
  timeout: 60_000,
}, async () => {
  const rounds = 3_000
  let foreign = 0
  let missing = 0
  const check = (rows: readonly { id: string }[], own: Device) => {
    if (rows.some(({ id }) => id !== own.id)) foreign++
    if (rows.length !== 1) missing++
  }
  const one = async (n: number) => {
    const own = device((n * 7) % tenants)
    if (n % 10 === 0) await inTransaction(pool, whole(own), async (db) => check(await bare(db), own))
    else if (n % 10 === 1)
      await inTransaction(pool, whole(own), () => Promise.reject(new Error('given up'))).catch(
        () => undefined,
      )
    else if (n % 10 === 2) await read(whole(own)).rows`select 1 / 0`.catch(() => undefined)
    else check(await bare(read(whole(own))), own)
  }
  for (let at = 0; at < rounds; at += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, n) => one(at + n)))
  }
  expect({ foreign, missing }).toEqual({ foreign: 0, missing: 0 })
})

describe('the roles', () => {
  test.each(['svc_app', 'svc_worker'] as const)(
    '%s owns nothing and obeys row-level security',
    async (role) => {
      const sql = openPool({ url, role, max: 1, name: 'role' })
      expect((await sql`select current_user as who`)[0]).toEqual({ who: role })
      const [facts] = await sql`
      select rolsuper or rolbypassrls or rolcreaterole or rolcreatedb as mighty,
        (select count(*) from pg_class where relowner = r.oid) + (select count(*) from pg_proc where proowner = r.oid) as owned,
        (select count(*) from pg_auth_members where member = r.oid) as memberships
      from pg_roles r where rolname = ${role}`
      expect(facts).toEqual({ mighty: false, owned: 0, memberships: 0 })
      for (const forbidden of [
        'truncate devices',
        'create table svc.x (id int)',
        'create table public.x (id int)',
      ]) {
        await expect(sql.unsafe(forbidden)).rejects.toMatchObject({ code: '42501' })
      }
      await sql.end()
    },
  )
})

describe('a reader', () => {
  test('keeps the order of its rows and reads columns as the product names them', async () => {
    const rows = await read(system).rows<{ hostName: string; big: number; day: string; at: Date }>`
      select d.hostname as host_name, 5::bigint as big, '2026-01-31'::date as day, d.created_at as at
      from devices d where d.hostname like 'host-__' order by d.hostname desc limit 3`
    expect(rows.map(({ hostName }) => hostName)).toEqual(['host-99', 'host-98', 'host-97'])
    expect(rows[0]).toMatchObject({ big: 5, day: '2026-01-31', at: expect.any(Date) })
  })

  test('cannot write', async () => {
    await expect(read(whole(device(0))).run`delete from sites`).rejects.toThrow('a write needs a transaction')
    await expect(read(whole(device(0))).rows`delete from sites returning id`).rejects.toThrow()
  })

  test('is cut off when its statement takes too long', async () => {
    const hasty = openPool({ url, role: 'svc_app', max: 1, name: 'hasty', statementTimeoutMs: 100 })
    await expect(readerDb(hasty, nobody).rows`select pg_sleep(5)`).rejects.toMatchObject({ code: '57014' })
    await hasty.end()
  })
})

test('a worker’s transaction is one, in the scope it was given', async () => {
  const own = device(5)
  const db = workerDb(pool, whole(own))
  await expect(
    db.tx(async (tx) => {
      expect(await tx.run`update devices set display_name = 'changed'`).toBe(1)
      throw new Error('given up')
    }),
  ).rejects.toThrow('given up')
  expect(await db.rows`select display_name from devices d where ${db.visible('d')}`).toEqual([
    { displayName: null },
  ])
})
