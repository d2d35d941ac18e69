import { v7 as uuid } from 'uuid'
import { beforeAll, describe, expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Org, Site } from '../../../../../test/harness/make.ts'
import type { Person } from '../../../../../test/harness/people.ts'

const t = await testApp()
const { make, people } = t

const list = (as: Person, query: Record<string, string> = {}) => t.request('GET /devices', as, { query })
const idsOf = (body: { devices: { id: string }[] }) => body.devices.map(({ id }) => id)
const sql = (work: Parameters<typeof t.db.tx>[0]) => t.db.tx(work)

/** Every page from the first to the last. */
async function walk(as: Person, query: Record<string, string>) {
  const pages: { id: string; hostname: string }[][] = []
  let cursor: string | null = null
  do {
    const { status, body } = await list(as, { ...query, ...(cursor !== null && { cursor }) })
    expect(status).toBe(200)
    pages.push(body.devices)
    cursor = body.nextCursor
  } while (cursor !== null && pages.length < 100)
  return pages
}

describe('lists', () => {
  /** 40 devices with many ties: 7 names in two cases, a third online, some never seen, some never enrolled, some at the same µs. */
  let site: Site
  let admin: Person
  let all: string[]

  beforeAll(async () => {
    site = await make.site()
    admin = await people.partnerAdmin(site.partnerId)
    all = Array.from({ length: 40 }, () => uuid())
    await sql(async (tx) => {
      for (const [n, id] of all.entries()) {
        const online = n % 3 === 0
        const seen = n % 4 === 0 ? null : `2026-05-01 10:00:00.${100_000 + (n % 5)}+00`
        const enrolled = n % 6 === 0 ? null : `2026-04-01 10:00:00.${999_990 + (n % 4)}+00`
        await tx.run`
          insert into devices (id, partner_id, org_id, site_id, hostname, os_type, connectivity, offline_seen_at, enrolled_at)
          values (${id}, ${site.partnerId}, ${site.orgId}, ${site.siteId}, ${n % 2 ? `HOST-${n % 7}` : `host-${n % 7}`}, 'linux',
            ${online ? 'online' : 'offline'}, ${seen}, ${enrolled})`
      }
    })
  })

  /** The order that a sort promises, worked out from the rows without any of the product's SQL. */
  async function promised(sort: string, dir: string) {
    const rows = await t.owner<
      { id: string; name: string; online: boolean; seen: string | null; enrolled: string | null }[]
    >`
      select id, hostname as name, connectivity = 'online' as online,
        trunc(extract(epoch from offline_seen_at) * 1000000)::text as seen,
        trunc(extract(epoch from enrolled_at) * 1000000)::text as enrolled
      from svc.devices where partner_id = ${site.partnerId}`
    const never = -1n
    const keys = (row: (typeof rows)[number]): string | bigint =>
      sort === 'hostname'
        ? row.name.toLowerCase()
        : sort === 'lastSeen'
          ? row.online
            ? 2n ** 80n
            : BigInt(row.seen ?? never)
          : BigInt(row.enrolled ?? never)
    const less = (a: string | bigint, b: string | bigint) => (a < b ? -1 : a > b ? 1 : 0)
    const sorted = [...rows].sort((a, b) => less(keys(a), keys(b)) || less(a.id, b.id))
    return (dir === 'asc' ? sorted : sorted.reverse()).map(({ id }) => id)
  }

  const orders = ['hostname', 'lastSeen', 'enrolled'].flatMap((sort) =>
    ['asc', 'desc'].map((dir) => [sort, dir] as const),
  )

  test.each(orders)(
    'by %s %s every device is met exactly once, in order, whatever the page size',
    async (sort, dir) => {
      for (const limit of ['1', '7', '40', '50']) {
        const pages = await walk(admin, { sort, sortDir: dir, limit })
        expect(pages.flat().map(({ id }) => id)).toEqual(await promised(sort, dir))
        expect(pages.slice(0, -1).every((page) => page.length === Number(limit))).toBe(true)
      }
    },
  )

  test.each(orders)('by %s %s the pages of page mode say the same', async (sort, dir) => {
    const ids = []
    for (let page = 1; page <= 5; page++) {
      const { body } = await list(admin, { sort, sortDir: dir, page: String(page), limit: '9' })
      expect(body).toMatchObject({ page, limit: 9, total: 40 })
      expect(body).not.toHaveProperty('nextCursor')
      ids.push(...idsOf(body))
    }
    expect(ids).toEqual(await promised(sort, dir))
    expect((await list(admin, { page: '6', limit: '9' })).body.devices).toEqual([])
  })

  test('without a word names sort forwards and dates from the newest', async () => {
    expect(idsOf((await list(admin)).body)).toEqual(await promised('hostname', 'asc'))
    expect(idsOf((await list(admin, { sort: 'lastSeen' })).body)).toEqual(await promised('lastSeen', 'desc'))
    expect(idsOf((await list(admin, { sort: 'enrolled' })).body)).toEqual(await promised('enrolled', 'desc'))
  })

  test('a device renamed or gone online between two pages makes no other one appear twice or vanish', async () => {
    const order = await promised('hostname', 'asc')
    const first = (await list(admin, { limit: '10' })).body
    await sql((tx) => tx.run`update devices set hostname = 'zzz' where id = ${order[0] ?? ''}`)
    const rest = (await list(admin, { limit: '100', cursor: first.nextCursor })).body
    expect([...idsOf(first), ...idsOf(rest)].filter((id) => id !== order[0])).toEqual(order.slice(1))
    await sql((tx) => tx.run`update devices set hostname = 'host-0' where id = ${order[0] ?? ''}`)
  })

  test('the total is counted when asked for, on the first page only', async () => {
    const first = (await list(admin, { limit: '10', includeTotal: 'true' })).body
    expect(first).toMatchObject({ total: 40, limit: 10, nextCursor: expect.any(String) })
    const second = (await list(admin, { limit: '10', includeTotal: 'true', cursor: first.nextCursor })).body
    expect(second).not.toHaveProperty('total')
    expect((await t.request('GET /devices?includeTotal', admin)).body.total).toBe(40)
    expect((await t.request('GET /devices?includeTotal=0', admin)).body).not.toHaveProperty('total')
    expect((await list(admin, { limit: '10' })).body).not.toHaveProperty('total')
  })

  test('the default page has fifty', async () => {
    expect((await list(admin)).body).toMatchObject({ limit: 50, nextCursor: null })
  })

  test.each([
    ['more than 1,000 in cursor mode', { limit: '1001' }, 'limit'],
    ['more than 500 in page mode', { limit: '501', page: '1' }, 'limit'],
    ['a limit of none', { limit: '0' }, 'limit'],
    ['a limit that is no number', { limit: '1e2' }, 'limit'],
    ['a page of none', { page: '0' }, 'page'],
    ['a sort that does not exist', { sort: 'status' }, 'sort'],
    ['a malformed id', { orgIds: 'x' }, 'orgIds'],
    ['an empty list of ids', { siteIds: '' }, 'siteIds'],
    ['a status that does not exist', { status: 'Online' }, 'status'],
    ['a filter that does not exist', { orgId: uuid() }, 'orgId'],
    ['a made-up cursor', { cursor: 'abc' }, 'cursor'],
  ])('%s is 400', async (_, query: Record<string, string>, field) => {
    const { status, body } = await list(admin, query)
    expect([status, body.error.code]).toEqual([400, 'VALIDATION_ERROR'])
    expect(body.error.details[0].field).toBe(field)
  })

  test('the largest pages are accepted', async () => {
    expect((await list(admin, { limit: '1000' })).status).toBe(200)
    expect((await list(admin, { limit: '500', page: '1' })).status).toBe(200)
  })

  test('a cursor is good for its own sort and direction only, and not when a byte of it is changed', async () => {
    const { nextCursor } = (await list(admin, { limit: '1' })).body as { nextCursor: string }
    const bad = [
      { cursor: nextCursor, sort: 'lastSeen' },
      { cursor: nextCursor, sortDir: 'desc' },
      { cursor: nextCursor, page: '1' },
      { cursor: `${nextCursor}x` },
      { cursor: nextCursor.slice(0, -3) },
      { cursor: `${nextCursor[0] === 'A' ? 'B' : 'A'}${nextCursor.slice(1)}` },
    ]
    for (const query of bad) {
      const { status, body } = await list(admin, query)
      expect([status, body.error.details[0].field]).toEqual([400, 'cursor'])
    }
    expect((await list(admin, { cursor: nextCursor, sort: 'hostname', sortDir: 'asc' })).status).toBe(200)
  })

  test('a cursor made here is refused to another tenant’s caller', async () => {
    const { nextCursor } = (await list(admin, { limit: '1' })).body as { nextCursor: string }
    const stranger = await people.partnerAdmin(await make.partner())
    const { status, body } = await list(stranger, { cursor: nextCursor })
    expect([status, body.error.details[0].field]).toEqual([400, 'cursor'])
  })
})

describe('filters and scopes', () => {
  let [here, there, foreign]: [Site, Site, Site] = [] as never
  let admin: Person
  const device: Record<string, string> = {}

  beforeAll(async () => {
    here = await make.site()
    there = await make.site(await make.org(here.partnerId))
    foreign = await make.site()
    admin = await people.partnerAdmin(here.partnerId)
    const add = async (name: string, site: Site, more: Parameters<typeof make.device>[1] = {}) => {
      device[name] = (await make.device(site, { hostname: name, ...more })).id
    }
    await add('alpha', here, { connectivity: 'online' })
    await add('beta', here, { osType: 'windows' })
    await add('gamma', there, { osType: 'macos', lifecycle: 'quarantined' })
    await add('delta', there, { lifecycle: 'decommissioned' })
    await add('epsilon', await make.site({ ...here }), {})
    await add('foreign', foreign)
    await sql(
      (tx) => tx.run`update devices set display_name = 'Front 100% Desk' where id = ${device['beta'] ?? ''}`,
    )
  })

  const namesOf = async (as: Person, query: Record<string, string> = {}) =>
    (await list(as, query)).body.devices.map(({ hostname }: { hostname: string }) => hostname)

  test('decommissioned devices are shown only when asked for', async () => {
    expect(await namesOf(admin)).toEqual(['alpha', 'beta', 'epsilon', 'gamma'])
    expect(await namesOf(admin, { includeDecommissioned: 'true' })).toEqual([
      'alpha',
      'beta',
      'delta',
      'epsilon',
      'gamma',
    ])
    expect(await namesOf(admin, { status: 'decommissioned' })).toEqual(['delta'])
  })

  test('each filter restricts, and together they intersect', async () => {
    expect(await namesOf(admin, { orgIds: there.orgId })).toEqual(['gamma'])
    expect(await namesOf(admin, { orgIds: `${here.orgId},${there.orgId}` })).toEqual([
      'alpha',
      'beta',
      'epsilon',
      'gamma',
    ])
    expect(await namesOf(admin, { siteIds: here.siteId })).toEqual(['alpha', 'beta'])
    expect(await namesOf(admin, { osType: 'windows,macos' })).toEqual(['beta', 'gamma'])
    expect(await namesOf(admin, { status: 'online,quarantined' })).toEqual(['alpha', 'gamma'])
    expect(await namesOf(admin, { status: 'online', siteIds: there.siteId })).toEqual([])
    const group = await make.group(here, [device['alpha'] ?? '', device['beta'] ?? ''])
    expect(await namesOf(admin, { groupIds: group })).toEqual(['alpha', 'beta'])
    expect(await namesOf(admin, { groupIds: group, osType: 'windows' })).toEqual(['beta'])
  })

  test('search takes part of either name, in any case and literally', async () => {
    expect(await namesOf(admin, { search: 'ALPH' })).toEqual(['alpha'])
    expect(await namesOf(admin, { search: '0% d' })).toEqual(['beta'])
    expect(await namesOf(admin, { search: '%' })).toEqual(['beta'])
    expect(await namesOf(admin, { search: '_' })).toEqual([])
    expect(await namesOf(admin, { search: '\\' })).toEqual([])
  })

  test('another tenant’s ids in a filter match nothing, alone or beside one’s own', async () => {
    const foreignGroup = await make.group(foreign, [device['foreign'] ?? ''])
    for (const query of [
      { orgIds: foreign.orgId },
      { siteIds: foreign.siteId },
      { groupIds: foreignGroup },
      { orgIds: uuid() },
    ]) {
      expect(await namesOf(admin, query)).toEqual([])
      expect((await list(admin, { ...query, includeTotal: 'true' })).body.total).toBe(0)
    }
    expect(await namesOf(admin, { orgIds: `${foreign.orgId},${there.orgId}` })).toEqual(['gamma'])
  })

  test('a member sees the organization, the sites and the groups that the membership allows', async () => {
    const reader = { permissions: ['devices:read'] as const }
    expect(await namesOf(await people.orgMember(here as Org, reader))).toEqual(['alpha', 'beta', 'epsilon'])
    expect(await namesOf(await people.orgMember(here as Org, { ...reader, siteIds: [here.siteId] }))).toEqual(
      ['alpha', 'beta'],
    )
    const group = await make.group(here, [device['beta'] ?? '', device['epsilon'] ?? ''])
    const grouped = await people.orgMember(here as Org, { ...reader, deviceGroupIds: [group] })
    expect(await namesOf(grouped)).toEqual(['beta', 'epsilon'])
    const both = await people.orgMember(here as Org, {
      ...reader,
      siteIds: [here.siteId],
      deviceGroupIds: [group],
    })
    expect(await namesOf(both)).toEqual(['beta'])
    const selected = await people.partnerMember(here.partnerId, [there.orgId], reader)
    expect(await namesOf(selected)).toEqual(['gamma'])
    expect(await namesOf(await people.partnerMember(here.partnerId, 'none', reader))).toEqual([])
  })

  test('a restricted member is told 404 of every device outside the restriction, on every path', async () => {
    const restricted = await people.orgMember(here as Org, { siteIds: [here.siteId] })
    const id = device['epsilon'] ?? ''
    const commandId = uuid()
    const paths = [
      `GET /devices/${id}`,
      `GET /devices/${id}/hardware`,
      `GET /devices/${id}/disks`,
      `GET /devices/${id}/network`,
      `GET /devices/${id}/software`,
      `GET /devices/${id}/commands`,
      `GET /devices/${id}/commands/${commandId}`,
      `POST /devices/${id}/commands/${commandId}/cancel`,
      `DELETE /devices/${id}`,
    ] as const
    for (const path of paths) expect([path, (await t.request(path, restricted)).status]).toEqual([path, 404])
    const sent = await t.request(`POST /devices/${id}/commands`, restricted, {
      body: { type: 'refresh_inventory' },
    })
    expect(sent.status).toBe(404)
    const stranger = await people.partnerAdmin(foreign.partnerId)
    for (const path of paths) expect([path, (await t.request(path, stranger)).status]).toEqual([path, 404])
    expect((await t.request(`GET /devices/${id}`, admin)).body.status).toBe('offline')
  })
})

describe('one device', () => {
  test('is shown with presence, hardware, disks and groups; the list shows its summary', async () => {
    const d = await make.device(undefined, { hostname: 'Detail', connectivity: 'online' })
    const admin = await people.partnerAdmin(d.partnerId)
    const group = await make.group(d, [d.id])
    await sql(async (tx) => {
      await tx.run`update device_presence set last_seen_at = '2026-05-01T10:00:00.123Z', cpu_percent = 12.5, ram_percent = 50,
        disk_percent = 75, uptime_seconds = 5000000000 where device_id = ${d.id}`
      await tx.run`update devices set last_seen_ip = '192.0.2.9', enrollment_ip = '2001:db8::1', tags = '{a,b}' where id = ${d.id}`
      await tx.run`insert into device_hardware (device_id, partner_id, org_id, cpu_model, cpu_cores, ram_total_bytes, collected_at)
        values (${d.id}, ${d.partnerId}, ${d.orgId}, 'EPYC', 8, 17179869184, '2026-05-01T09:00:00Z')`
      for (const mount of ['/var', '/']) {
        await tx.run`insert into device_disks (device_id, partner_id, org_id, mount_point, fs_type, total_bytes, used_bytes,
          free_bytes, collected_at) values (${d.id}, ${d.partnerId}, ${d.orgId}, ${mount}, 'ext4', 4000000000000, 1, 2,
          '2026-05-01T09:00:00Z')`
      }
    })
    const { status, body } = await t.request(`GET /devices/${d.id}`, admin)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      id: d.id,
      orgId: d.orgId,
      siteId: d.siteId,
      hostname: 'Detail',
      status: 'online',
      tags: ['a', 'b'],
      customFields: {},
      autoUpdateEnabled: true,
      lastSeenAt: '2026-05-01T10:00:00.123Z',
      lastSeenIp: '192.0.2.9',
      enrollmentIp: '2001:db8::1',
      cpuPercent: 12.5,
      uptimeSeconds: 5_000_000_000,
      orgName: expect.stringMatching(/^Org /),
      siteName: expect.stringMatching(/^Site /),
      siteTimezone: 'UTC',
      hardware: {
        cpuModel: 'EPYC',
        cpuCores: 8,
        ramTotalBytes: 17_179_869_184,
        gpuModel: null,
        collectedAt: '2026-05-01T09:00:00.000Z',
      },
      groups: [
        { groupId: group, groupType: 'static', groupName: expect.any(String), addedAt: expect.any(String) },
      ],
    })
    expect(body.disks.map(({ mountPoint }: { mountPoint: string }) => mountPoint)).toEqual(['/', '/var'])
    expect(body.disks[0].totalBytes).toBe(4_000_000_000_000)
    expect(JSON.stringify(body)).not.toMatch(/token|credential|publicKey/i)

    const [row] = (await list(admin)).body.devices
    expect(row).toMatchObject({
      id: d.id,
      lastSeenAt: '2026-05-01T10:00:00.123Z',
      ramPercent: 50,
      diskPercent: 75,
      hardware: { cpuModel: 'EPYC', cpuCores: 8, ramTotalBytes: 17_179_869_184, diskTotalBytes: null },
      mainAgentSilentSince: null,
      watchdogStatus: null,
    })
    expect(row).not.toHaveProperty('sortKey')
    expect((await t.request(`GET /devices/${d.id}/hardware`, admin)).body).toEqual(body.hardware)
    expect((await t.request(`GET /devices/${d.id}/disks`, admin)).body).toEqual({
      data: body.disks,
      pagination: { hasMore: false, cursor: null },
    })
  })

  test('that has reported nothing yet has empty hardware and no disks', async () => {
    const d = await make.device()
    const admin = await people.partnerAdmin(d.partnerId)
    const detail = (await t.request(`GET /devices/${d.id}`, admin)).body
    expect(detail).toMatchObject({
      hardware: null,
      disks: [],
      groups: [],
      lastSeenAt: null,
      cpuPercent: null,
    })
    expect((await t.request(`GET /devices/${d.id}/hardware`, admin)).body).toMatchObject({
      cpuModel: null,
      collectedAt: null,
    })
    expect((await t.request(`GET /devices/${d.id}/disks`, admin)).body.data).toEqual([])
  })

  test('that does not exist is 404, and an id that is none 400', async () => {
    const admin = await people.partnerAdmin(await make.partner())
    expect((await t.request(`GET /devices/${uuid()}`, admin)).status).toBe(404)
    expect((await t.request('GET /devices/17', admin)).status).toBe(400)
  })

  test('a caller without devices:read is refused whether or not the device exists', async () => {
    const d = await make.device()
    const powerless = await people.powerless(d)
    for (const id of [d.id, uuid()])
      expect((await t.request(`GET /devices/${id}`, powerless)).status).toBe(403)
    expect((await list(powerless)).status).toBe(403)
  })
})
