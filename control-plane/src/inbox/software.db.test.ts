import { createHash } from 'node:crypto'
import { svc } from '@svc/proto'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { entry, item, makeDevices, openPipeline, own } from '../../test/harness/pipeline.ts'
import { handleEntries } from './inbox.ts'
import type { ShardLease } from './lease.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, deps } = on
let lease: ShardLease
let id: string

beforeEach(async () => {
  await sql`truncate devices, device_presence cascade`
  lease = await own(on, 0)
  ;[id = ''] = await makeDevices(on, 1, { epoch: 7, node: 'n1' })
})

const now = Date.now()

const report = async (inventory: svc.v1.IInventory, device = id) => {
  const hash = createHash('sha256').update(svc.v1.Inventory.encode(inventory).finish()).digest()
  await handleEntries(deps, lease, [
    entry('n1', [item.inventory(device, 7, { hash, collectedAtMs: now, ...inventory })]),
  ])
}
const software = (packages: svc.v1.IPackage[], device = id) => report({ software: { packages } }, device)

const many = (count: number): svc.v1.IPackage[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `package-${at}`,
    version: '1.0-1',
    vendor: 'Maintainers <all@example.org>',
    architecture: 'amd64',
    installedAtMs: 1_700_000_000_000,
    source: 'dpkg',
  }))

const rows = () => sql<{ name: string; version: string; instance: number }[]>`
  select name, version, instance from device_software where device_id = ${id} order by name, instance`

test('of ten thousand packages three that changed are three rows written, and none is even locked', async () => {
  const packages = many(10_000)
  await software(packages)
  const [first] = await sql<{ written: string }[]>`
    select min(xmin::text::bigint)::text as written from device_software having count(*) = 10000 and count(distinct xmin::text) = 1`
  expect(first).toBeDefined()
  await software([
    { ...packages[17], version: '2.0-1' },
    ...packages.slice(0, 17),
    ...packages.slice(18, 5_000),
    ...packages.slice(5_001),
    { name: 'new', version: '1', source: 'dpkg' },
  ])
  const touched = await sql<{ name: string }[]>`
    select name from device_software where xmin::text <> ${first?.written ?? ''} or xmax::text <> '0' order by name`
  expect(touched.map(({ name }) => name)).toEqual(['new', 'package-17'])
  const all = await rows()
  expect(all).toHaveLength(10_000)
  expect(all.filter(({ name }) => ['package-17', 'package-5000'].includes(name))).toEqual([
    { name: 'package-17', version: '2.0-1', instance: 0 },
  ])
})

test('several versions of one package stand beside each other; the same one twice is one', async () => {
  const kernel = (version: string) => ({ name: 'kernel', version, source: 'rpm', architecture: 'x86_64' })
  await software([kernel('6.2'), kernel('6.1'), kernel('6.2'), { name: '' }])
  expect(await rows()).toEqual([
    { name: 'kernel', version: '6.1', instance: 0 },
    { name: 'kernel', version: '6.2', instance: 1 },
  ])
  await software([kernel('6.2')])
  expect(await rows()).toEqual([{ name: 'kernel', version: '6.2', instance: 0 }])
  await software([])
  expect(await rows()).toEqual([])
})

test('what no column can hold is replaced or left out, and concerns nobody else', async () => {
  const [other = ''] = await makeDevices(on, 1, { epoch: 7, node: 'n1' })
  await software(many(3), other)
  await software([
    { name: `\0"\\{,}${'n'.repeat(300)}`, version: 'NULL', vendor: '', installedAtMs: 8_000_000_000_000_000 },
  ])
  const [row] =
    await sql`select name, version, vendor, installed_at from device_software where device_id = ${id}`
  expect(row).toEqual({
    name: `\u{fffd}"\\{,}${'n'.repeat(249)}`,
    version: 'NULL',
    vendor: null,
    installedAt: null,
  })
  await software([])
  expect(await sql`select 1 from device_software where device_id = ${other}`).toHaveLength(3)
})

test('a network is one row for the device and one for each interface; what stayed is left alone', async () => {
  const eth0 = {
    name: 'eth0',
    macAddress: '02:00:00:00:00:01',
    addresses: ['192.0.2.7/24', '2001:db8::7/64'],
    state: 'up',
    mtu: 1500,
    speedMbps: 1000,
    isPrimary: true,
  }
  const wlan0 = { name: 'wlan0', state: 'sleeping', mtu: 1500 }
  const gone = { name: 'usb0', state: 'down' }
  const network = { defaultGateway: '192.0.2.1', dnsServers: ['192.0.2.53', '2001:db8::53'] }
  await report({ network: { ...network, interfaces: [eth0, wlan0, gone] } })
  const shown = () => sql`
    select name, mac_address, addresses, state, mtu, speed_mbps, is_primary from device_network_interfaces order by name`
  const unknown = { macAddress: null, addresses: [], speedMbps: null, isPrimary: false }
  const stays = { ...unknown, name: 'wlan0', state: 'unknown', mtu: 1500 }
  expect(await shown()).toEqual([eth0, { ...unknown, name: 'usb0', state: 'down', mtu: null }, stays])
  expect(await sql`select default_gateway, dns_servers from device_networks`).toEqual([network])
  const [first] = await sql<{ xmin: string }[]>`select xmin::text from device_network_interfaces limit 1`
  await report({ network: { interfaces: [{ ...eth0, addresses: ['192.0.2.8/24'] }, wlan0] } })
  expect(await shown()).toEqual([{ ...eth0, addresses: ['192.0.2.8/24'] }, stays])
  expect(
    await sql`select name from device_network_interfaces where xmin::text <> ${first?.xmin ?? ''} or xmax::text <> '0'`,
  ).toEqual([{ name: 'eth0' }])
  expect(await sql`select default_gateway, dns_servers from device_networks`).toEqual([
    { defaultGateway: null, dnsServers: [] },
  ])
})
