import { afterAll, expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import { openPool } from '../../../../adapters/postgres.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { readerDb } from '../../../../kernel/db.ts'
import { newestFirst } from '../../../../kernel/page.ts'
import { changeList, memberList } from './service.ts'

const t = await testApp()
const members = 5_000
const shown = 20
const pool = openPool({ url: t.url, role: 'svc_app', max: 1, name: 'cost test' })
afterAll(() => pool.end())

/** A group of many devices, each with an entry in its log. */
async function large() {
  const site = await t.make.site()
  const { partnerId, orgId, siteId } = site
  const group = await t.make.group(site)
  await t.owner`
    with made as (
      insert into svc.devices (id, partner_id, org_id, site_id, hostname, os_type)
      select gen_random_uuid(), ${partnerId}, ${orgId}, ${siteId}, 'host-' || n, 'linux' from generate_series(1, ${members}) n
      returning id
    ), joined as (
      insert into svc.device_group_members (group_id, device_id, partner_id, org_id)
      select ${group}, id, ${partnerId}, ${orgId} from made returning device_id)
    insert into svc.device_group_log (id, group_id, device_id, partner_id, org_id, action, reason)
    select gen_random_uuid(), ${group}, device_id, ${partnerId}, ${orgId}, 'added', 'manual' from joined`
  await t.owner.unsafe('vacuum analyze svc.devices, svc.device_group_members, svc.device_group_log')
  return { partnerId, group }
}

/** Rows and index entries of devices and groups read so far, once the pool's one connection has told its counts. */
async function read(): Promise<number> {
  await pool`select pg_stat_force_next_flush()`
  const [row] = await t.owner<{ read: number }[]>`
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_user_tables
    where schemaname = 'svc' and relname in ('devices', 'device_group_members', 'device_group_log')`
  return row?.read ?? 0
}

test('a page of a group’s devices, or of its log, costs no more for the size of the group', async () => {
  const { partnerId, group } = await large()
  const db = readerDb(pool, { kind: 'tenant', partnerId, orgs: 'all' })
  const ctx = { db, params: { id: group }, query: { includeDecommissioned: false } }
  const ask = [
    () => memberList(ctx as Ctx<{ id: string }, never>, newestFirst(db.sql, 'added_at', shown, undefined)),
    () => changeList(ctx as Ctx<{ id: string }, never>, newestFirst(db.sql, 'created_at', shown, undefined)),
  ]
  for (const list of ask) {
    const costs: number[] = []
    for (let run = 0; run < 4; run++) {
      const before = await read()
      expect(await list()).toHaveLength(shown + 1)
      costs.push((await read()) - before)
    }
    // What other connections read before is told at any time; not in each run.
    expect(Math.max(...costs)).toBeGreaterThanOrEqual(shown)
    expect(Math.min(...costs)).toBeLessThan(shown * 10)
  }
})
