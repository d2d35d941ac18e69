import { beforeAll, describe, expect, test } from 'vitest'
import { testApp } from '../../../../../test/harness/app.ts'
import type { Person } from '../../../../../test/harness/people.ts'

const t = await testApp()
const { make, people } = t

type Device = Awaited<ReturnType<typeof make.device>>
let device: Device
let admin: Person

beforeAll(async () => {
  device = await make.device()
  admin = await people.partnerAdmin(device.partnerId)
})

describe('network', () => {
  const network = () => t.request(`GET /devices/${device.id}/network`, admin)

  test('is empty before the first report', async () => {
    expect(await network()).toMatchObject({
      status: 200,
      body: { interfaces: [], defaultGateway: null, dnsServers: [], collectedAt: null },
    })
  })

  test('shows interfaces by name, gateway and name servers', async () => {
    const { id, partnerId, orgId } = device
    await t.db.tx(async (tx) => {
      await tx.run`insert into device_networks (device_id, partner_id, org_id, default_gateway, dns_servers, collected_at)
        values (${id}, ${partnerId}, ${orgId}, '192.0.2.1', '{192.0.2.53,2001:db8::53}', '2026-05-01T09:00:00Z')`
      for (const name of ['wlan0', 'eth0'])
        await tx.run`insert into device_network_interfaces (device_id, partner_id, org_id, name, mac_address, addresses,
          state, mtu, speed_mbps, is_primary) values (${id}, ${partnerId}, ${orgId}, ${name}, '02:00:00:00:00:01',
          '{192.0.2.7/24}', 'up', 1500, null, ${name === 'eth0'})`
    })
    const one = {
      macAddress: '02:00:00:00:00:01',
      addresses: ['192.0.2.7/24'],
      state: 'up',
      mtu: 1500,
      speedMbps: null,
    }
    expect((await network()).body).toEqual({
      interfaces: [
        { ...one, name: 'eth0', isPrimary: true },
        { ...one, name: 'wlan0', isPrimary: false },
      ],
      defaultGateway: '192.0.2.1',
      dnsServers: ['192.0.2.53', '2001:db8::53'],
      collectedAt: '2026-05-01T09:00:00.000Z',
    })
  })
})

describe('software', () => {
  /** In the order that is promised: by name whatever its case, ties by what tells them apart. */
  const packages = [
    ...['alpha', 'Alpine', 'beta%2', 'Beta_1'].map((name) => ({ name, architecture: 'amd64', instance: 0 })),
    { name: 'kernel', architecture: 'amd64', instance: 0 },
    { name: 'kernel', architecture: 'amd64', instance: 1 },
    { name: 'kernel', architecture: 'i386', instance: 0 },
    { name: 'Zed', architecture: '', instance: 0 },
  ].map((one, at) => ({ ...one, version: `${at}.0`, vendor: at % 2 ? 'Contoso Ltd' : null }))

  const versionsOf = (data: { version: string }[]) => data.map(({ version }) => version)
  const all = versionsOf(packages)
  const list = (query: Record<string, string> = {}, as = admin) =>
    t.request(`GET /devices/${device.id}/software`, as, { query })

  const insert = ({ id, partnerId, orgId }: Device, of: typeof packages) =>
    t.db.tx(async (tx) => {
      for (const one of of)
        await tx.run`insert into device_software (device_id, partner_id, org_id, name, source, architecture, instance, version,
          vendor, installed_at, reported_at) values (${id}, ${partnerId}, ${orgId}, ${one.name}, 'dpkg', ${one.architecture},
          ${one.instance}, ${one.version}, ${one.vendor}, '2026-04-01T09:00:00Z', '2026-05-01T09:00:00Z')`
    })

  beforeAll(async () => {
    await insert(device, packages.toReversed())
    await insert(await make.device(device), packages)
  })

  test('is listed by name, with an id that stays when the version changes', async () => {
    const { status, body } = await list()
    expect(status).toBe(200)
    expect(versionsOf(body.data)).toEqual(all)
    expect(body.pagination).toEqual({ hasMore: false, cursor: null })
    expect(body.data[7]).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      name: 'Zed',
      version: '7.0',
      vendor: 'Contoso Ltd',
      architecture: null,
      source: 'dpkg',
      installedAt: '2026-04-01T09:00:00.000Z',
      reportedAt: '2026-05-01T09:00:00.000Z',
    })
    const ids = body.data.map(({ id }: { id: string }) => id)
    expect(new Set(ids).size).toBe(packages.length)
    await t.owner`update svc.device_software set version = '9.9' where name = 'Zed'`
    expect((await list()).body.data.map(({ id }: { id: string }) => id)).toEqual(ids)
    await t.owner`update svc.device_software set version = '7.0' where name = 'Zed'`
  })

  test('comes in pages of any size, each package once', async () => {
    for (const limit of [1, 3, 7]) {
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const { body } = await list({ limit: String(limit), ...(cursor !== null && { cursor }) })
        expect(body.data.length).toBeLessThanOrEqual(limit)
        seen.push(...versionsOf(body.data))
        cursor = body.pagination.cursor
        expect(body.pagination.hasMore).toBe(cursor !== null)
      } while (cursor !== null && seen.length < 50)
      expect(seen).toEqual(all)
    }
  })

  test('is searched by a part of name or vendor, taken literally', async () => {
    const found = async (search: string) => versionsOf((await list({ search })).body.data)
    expect(await found('ALP')).toEqual(['0.0', '1.0'])
    expect(await found('contoso')).toEqual(['1.0', '3.0', '5.0', '7.0'])
    expect(await found('_')).toEqual(['3.0'])
    expect(await found('%')).toEqual(['2.0'])
    expect(await found('nothing of the kind')).toEqual([])
  })

  test('refuses what is no cursor, too long a page and unknown keys', async () => {
    const good = (await list({ limit: '1' })).body.pagination.cursor as string
    for (const query of [
      { cursor: `${good}x` },
      { limit: '501' },
      { limit: '0' },
      { search: '' },
      { sort: 'name' },
    ])
      expect([query, (await list(query as Record<string, string>)).status]).toEqual([query, 400])
  })
})

test('another tenant sees 404, not 403', async () => {
  const stranger = await people.partnerAdmin((await make.site()).partnerId)
  for (const part of ['network', 'software'] as const)
    expect((await t.request(`GET /devices/${device.id}/${part}`, stranger)).status).toBe(404)
})
