import { createHash } from 'node:crypto'
import type { svc } from '@svc/proto'
import { afterAll, beforeEach, expect, test } from 'vitest'
import {
  type DeviceFacts,
  edgeMessages,
  entry,
  framesIn,
  item,
  makeDevices,
  openPipeline,
  own,
} from '../../test/harness/pipeline.ts'
import { handleEntries } from './inbox.ts'
import type { ShardLease } from './lease.ts'

const on = await openPipeline()
afterAll(() => on.close())
const { sql, deps } = on
const edge = await edgeMessages(on.bus, 'n1')
let lease: ShardLease

beforeEach(async () => {
  await sql`truncate devices, device_presence cascade`
  lease = await own(on, 0)
  edge.length = 0
})

const handle = async (...entries: ReturnType<typeof entry>[]) => {
  await handleEntries(deps, lease, entries)
  await new Promise((resolve) => setImmediate(resolve))
}
const up = (...items: svc.v1.IUpItem[]) => entry('n1', items)
const one = async (facts: DeviceFacts = {}) => (await makeDevices(on, 1, facts))[0] ?? ''

test('inventory is written once, replaced whole, and acknowledged each time', async () => {
  const id = await one({ epoch: 7, node: 'n1' })
  const hash = (text: string) => createHash('sha256').update(text).digest()
  const disks = (...mounts: string[]) => ({
    disks: mounts.map((mountPoint) => ({ mountPoint, totalBytes: 2 ** 40, usedBytes: 5, freeBytes: 1 })),
  })
  const report = (mark: string, payload: svc.v1.IInventory) =>
    item.inventory(id, 7, { hash: hash(mark), collectedAtMs: Date.now(), ...payload })
  await handle(
    up(
      report('h', {
        hardware: {
          cpuModel: 'Z80',
          cpuCores: 1,
          ramTotalBytes: 65_536,
          isVirtual: true,
          virtualizationPlatform: 'kvm',
        },
      }),
      report('o', { os: { hostname: 'renamed', name: 'Debian', version: '12' } }),
      report('d1', { disks: disks('/', '/old') }),
    ),
  )
  expect(
    framesIn(edge)
      .map((frame) => frame.inventoryAck?.kind)
      .sort((a, b) => ((a ?? '') < (b ?? '') ? -1 : 1)),
  ).toEqual(['disks', 'hardware', 'os'])
  expect(await sql`select cpu_model, ram_total_bytes from device_hardware`).toEqual([
    { cpuModel: 'Z80', ramTotalBytes: 65_536 },
  ])
  const [device] =
    await sql`select hostname, os_name, os_version, is_virtual, virtualization_platform as platform from devices`
  expect(device).toEqual({
    hostname: 'renamed',
    osName: 'Debian',
    osVersion: '12',
    isVirtual: true,
    platform: 'kvm',
  })
  const known = await sql`select kind, received_at from device_inventory order by kind`
  edge.length = 0
  await handle(up(report('h', { hardware: { cpuModel: 'Z80' } })))
  expect(await sql`select kind, received_at from device_inventory order by kind`).toEqual(known)
  expect(framesIn(edge)).toHaveLength(1)
  await handle(up(report('d2', { disks: disks('/', '/new', '/new') })))
  expect(
    (await sql`select mount_point from device_disks order by 1`).map((row) => row['mountPoint']),
  ).toEqual(['/', '/new'])
})

test('inventory of a replaced connection, or without a hash, is neither written nor acknowledged', async () => {
  const id = await one({ epoch: 9, node: 'n1' })
  const hardware = { hardware: { cpuModel: 'Z80' } }
  await handle(
    up(item.inventory(id, 8, { hash: new Uint8Array(32), ...hardware }), item.inventory(id, 9, hardware)),
  )
  expect(await sql`select 1 from device_hardware`).toEqual([])
  expect(framesIn(edge)).toEqual([])
})

test('what no column can hold is replaced, and what no clock shows is when it came', async () => {
  const id = await one({ epoch: 7, node: 'n1' })
  const cut = `${'x'.repeat(254)}\u{1f600}` // the limit of 255 falls inside the pair
  const hash = new Uint8Array(32).fill(1)
  const report = (mark: number, payload: svc.v1.IInventory) =>
    item.inventory(id, 7, { hash: hash.with(0, mark), collectedAtMs: -9_000_000_000_000_000, ...payload })
  await handle(
    up(
      report(1, { hardware: { cpuModel: cut } }),
      report(2, { os: { hostname: cut } }),
      report(3, { disks: { disks: [{ mountPoint: '/', device: `\0${cut}` }] } }),
    ),
  )
  expect(framesIn(edge)).toHaveLength(3)
  const stored = `${'x'.repeat(254)}\u{fffd}`
  expect(
    await sql`select cpu_model, collected_at > now() - interval '1 minute' as recent from device_hardware`,
  ).toEqual([{ cpuModel: stored, recent: true }])
  expect(await sql`select hostname from devices`).toEqual([{ hostname: stored }])
})
