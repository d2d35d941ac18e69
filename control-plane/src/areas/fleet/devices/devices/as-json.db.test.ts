import { beforeAll, expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Site } from '../../../../../test/harness/make.ts'
import type { Person } from '../../../../../test/harness/people.ts'
import { Device } from './schema.ts'

const t = await testApp()
const { make, people } = t
const sql = (work: Parameters<typeof t.db.tx>[0]) => t.db.tx(work)

let site: Site
let admin: Person

beforeAll(async () => {
  site = await make.site()
  admin = await people.partnerAdmin(site.partnerId)
})

const odd = `a "quoted" \\ %s \u0001\u001f\u007f \u{1f600} é\u2028,\n{"id":"x"}`

/** Each column of the list has a value that is easily written wrong. */
async function edgeDevice(more: Parameters<typeof make.device>[1], at: string): Promise<string> {
  const { id } = await make.device(site, { hostname: odd, ...more })
  await sql(async (tx) => {
    await tx.run`update devices set display_name = ${odd}, os_name = ${odd}, os_version = '', os_build = 'null', architecture = ${odd},
      agent_version = '1.0', helper_version = '1.0', watchdog_version = '1.0', tags = ${[odd, '', 'NULL', 'b,c']},
      custom_fields = '{"b": {"deep": [1.50, {"x": null}, "\\u0001,\\n"]}, "a": true, "n": 1e21}', is_virtual = true,
      virtualization_platform = ${odd}, pending_reboot = true, last_user = ${odd}, last_seen_ip = '2001:db8::1',
      main_agent_silent_since = ${at}, watchdog_status = 'failover', enrolled_at = ${at}, decommissioned_at = ${at} where id = ${id}`
    await tx.run`update device_presence set last_seen_at = ${at}, cpu_percent = 0.1, ram_percent = 33.333332, disk_percent = 1e-7,
      uptime_seconds = 9007199254740991 where device_id = ${id}`
    await tx.run`insert into device_hardware (device_id, partner_id, org_id, cpu_model, cpu_cores, ram_total_bytes, collected_at)
      values (${id}, ${site.partnerId}, ${site.orgId}, ${odd}, 8, 9007199254740991, ${at})`
  })
  return id
}

/** As `GET /devices/:id` shows it, which reads column by column and writes through the serializer. */
async function detailOf(id: string): Promise<Record<string, unknown>> {
  const { body } = await t.request(`GET /devices/${id}`, admin)
  const { hardware, ...rest } = body as Record<string, Record<string, unknown> | null>
  const { cpuModel, cpuCores, ramTotalBytes, diskTotalBytes } = hardware ?? {}
  const summary = hardware && { cpuModel, cpuCores, ramTotalBytes, diskTotalBytes }
  return Object.fromEntries(
    Object.keys(Device.shape).map((name) => [name, { ...rest, hardware: summary }[name]]),
  )
}

test('the list shows of each device what its own page shows, whatever is in its columns, in either mode', async () => {
  const ids = [
    (await make.device(site)).id,
    await edgeDevice({}, '2026-12-31T23:59:59.999999Z'),
    await edgeDevice({ connectivity: 'online' }, '2026-11-28T09:30:00Z'),
    await edgeDevice({ lifecycle: 'quarantined' }, '2026-11-28T09:30:00.1Z'),
    await edgeDevice({ lifecycle: 'decommissioned' }, '2026-11-28T09:30:00.0009995Z'),
  ]
  const details = await Promise.all(ids.map(detailOf))
  expect(details[1]).toMatchObject({ hostname: odd, lastSeenAt: '2026-12-31T23:59:59.999Z' })
  const byId = (rows: Record<string, unknown>[]) => ids.map((id) => rows.find((row) => row['id'] === id))
  for (const mode of [{ page: '1' }, { limit: '5' }, { limit: '100' }] as Record<string, string>[]) {
    const query = { ...mode, includeDecommissioned: 'true' }
    const { body } = await t.request('GET /devices', admin, { query })
    expect(byId(body.devices)).toEqual(details)
    expect(body.devices.map(Object.keys)).toEqual(ids.map(() => Object.keys(Device.shape)))
  }
})

test('a page without devices has its envelope all the same', async () => {
  const nobody = await people.partnerAdmin(await make.partner())
  const of = async (query: Record<string, string>) =>
    (await t.request('GET /devices', nobody, { query })).body
  expect(await of({})).toEqual({ devices: [], nextCursor: null, limit: 50 })
  expect(await of({ page: '3', limit: '2' })).toEqual({ devices: [], page: 3, limit: 2, total: 0 })
})
