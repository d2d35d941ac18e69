import type { Ctx } from '../../../../kernel/context.ts'
import { envelope } from '../../../../kernel/envelope.ts'
import { placeOf } from '../../../../kernel/page.ts'
import { deviceOwner } from '../devices/service.ts'
import {
  findHardware,
  findNetwork,
  listDisks,
  listInterfaces,
  listSoftware,
  type SoftwarePlace,
} from './queries.ts'
import type { Hardware, Network, SoftwareQuery } from './schema.ts'

const unreported: Hardware = {
  cpuModel: null,
  cpuCores: null,
  cpuThreads: null,
  ramTotalBytes: null,
  diskTotalBytes: null,
  serialNumber: null,
  manufacturer: null,
  model: null,
  biosVersion: null,
  gpuModel: null,
  collectedAt: null,
}

/** The hardware of a device; all null for one that has reported none yet, undefined (404) for one the caller may not see. */
export async function hardwareOf({ db, params }: Ctx<{ id: string }>): Promise<Hardware | undefined> {
  const [device, hardware] = await Promise.all([deviceOwner(db, params.id), findHardware(db, params.id)])
  return device ? (hardware ?? unreported) : undefined
}

/** The file systems of a device by mount point; undefined (404) for a device the caller may not see. */
export async function disksOf({ db, params }: Ctx<{ id: string }>) {
  const [device, data] = await Promise.all([deviceOwner(db, params.id), listDisks(db, params.id)])
  return device && envelope(data, null)
}

/** How a device is connected; undefined (404) for a device the caller may not see. */
export async function networkOf({ db, params }: Ctx<{ id: string }>): Promise<Network | undefined> {
  const [device, network, interfaces] = await Promise.all([
    deviceOwner(db, params.id),
    findNetwork(db, params.id),
    listInterfaces(db, params.id),
  ])
  const { defaultGateway = null, dnsServers = [], collectedAt = null } = network ?? {}
  return device && { interfaces, defaultGateway, dnsServers, collectedAt }
}

const order = { route: 'GET /devices/:id/software', sort: 'name', direction: 'asc' } as const

/** One page of a device's software by name; undefined (404) for a device the caller may not see. */
export async function softwareOf(ctx: Ctx<{ id: string }, SoftwareQuery>) {
  const { db, params, query, ports } = ctx
  const { cursor, limit, search } = query
  const place = placeOf(ctx, order)
  const after =
    cursor === undefined ? undefined : (ports.cursors.read(cursor, place) as unknown as SoftwarePlace)
  const [device, rows] = await Promise.all([
    deviceOwner(db, params.id),
    listSoftware(db, { deviceId: params.id, search, after, take: limit + 1 }),
  ])
  if (!device) return undefined
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  const data = shown.map(({ place: _place, ...one }) => one)
  return envelope(data, last ? ports.cursors.write({ ...place, keys: last.place }) : null)
}
