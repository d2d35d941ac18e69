import { endCredentials } from '../../../../engines/status/credentials.ts'
import { moveDevice } from '../../../../engines/status/move.ts'
import { tellDead } from '../../../../engines/status/tell-dead.ts'
import { withdrawAll } from '../../../../engines/work/cancel.ts'
import { tellFinished } from '../../../../engines/work/hints.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { placeOf } from '../../../../kernel/page.ts'
import type { WithJsonRows } from '../../../../kernel/rows-as-json.ts'
import type { Db } from '../../../../kernel/tenancy.ts'
import {
  countDevices,
  type DeviceOwner,
  type DevicePage,
  type DeviceDetailRow,
  findDetail,
  findOwner,
  listDevices,
} from './queries.ts'
import type { DeviceDetail, DeviceList, DeviceQuery, Position } from './schema.ts'

/** Names sort forwards, dates from the newest, unless the query says otherwise. */
function orderOf({ sort, sortDir }: DeviceQuery): Pick<DevicePage, 'sort' | 'dir'> {
  return { sort, dir: sortDir ?? (sort === 'hostname' ? 'asc' : 'desc') }
}

type Listed = WithJsonRows<DeviceList>

/** `GET /devices` in either mode (interface §Paging envelopes). */
export function deviceList(ctx: Ctx<Record<string, never>, DeviceQuery>): Promise<Listed> {
  return ctx.query.page === undefined ? keysetList(ctx) : pagedList(ctx.db, ctx.query, ctx.query.page)
}

async function pagedList(db: Db, query: DeviceQuery, page: number): Promise<Listed> {
  const { limit } = query
  const wanted = { filter: query, ...orderOf(query), limit, offset: (page - 1) * limit }
  const [{ rows }, total] = await Promise.all([listDevices(db, wanted), countDevices(db, query)])
  return { devices: rows, page, limit, total }
}

async function keysetList(ctx: Ctx<Record<string, never>, DeviceQuery>): Promise<Listed> {
  const { db, query, ports } = ctx
  const { limit, cursor, includeTotal } = query
  const order = orderOf(query)
  const place = placeOf(ctx, { route: 'GET /devices', sort: order.sort, direction: order.dir })
  const after = cursor === undefined ? undefined : position(ports.cursors.read(cursor, place))
  const [{ rows, next }, total] = await Promise.all([
    listDevices(db, { filter: query, ...order, after, limit }),
    includeTotal && !after ? countDevices(db, query) : undefined,
  ])
  return {
    devices: rows,
    nextCursor: next ? ports.cursors.write({ ...place, keys: [next.key, next.id] }) : null,
    limit,
    ...(total !== undefined && { total }),
  }
}

function position([key, id]: readonly (string | number | null)[]): Position {
  if (typeof key !== 'string' || typeof id !== 'string')
    throw new Error('a cursor of GET /devices without its two keys')
  return { key, id }
}

/** Everything known of one device, decommissioned ones included; undefined (404) when the caller may not see it. */
export async function deviceDetail({ db, params }: Ctx<{ id: string }>): Promise<DeviceDetail | undefined> {
  const row = await findDetail(db, params.id)
  return row && detailOf(row)
}

const time = (text: string | null) => (text === null ? null : new Date(text))

function detailOf(row: DeviceDetailRow): DeviceDetail {
  const { hardware, disks, groups, update, flapping } = row
  return {
    ...row,
    hardware: hardware && { ...hardware, collectedAt: time(hardware.collectedAt) },
    disks: disks.map((disk) => ({ ...disk, collectedAt: new Date(disk.collectedAt) })),
    groups: groups.map((group) => ({ ...group, addedAt: new Date(group.addedAt) })),
    flapping: flapping && { ...flapping, since: new Date(flapping.since) },
    update: update && { ...update, at: new Date(update.at) },
  }
}

/**
 * Takes a device out of service: its credential dies, what it was told to do is withdrawn, its row stays. The revocation is
 * published after the commit, and every gateway also reads it from the exchange within two seconds (promise P7).
 *
 * @throws ApiError 409 with `{from, to}` when it is decommissioned already
 */
export async function decommission(ctx: Ctx<{ id: string }>): Promise<{ success: true } | undefined> {
  const { db, params, ports } = ctx
  const device = await findOwner(db, params.id)
  const moved = device && (await moveDevice(db, device.id, 'decommissioned'))
  if (!moved) return undefined
  const { id, partnerId, orgId, hostname } = device
  const dead = await endCredentials(db, [id], { reason: 'DECOMMISSIONED' })
  const withdrawn = await withdrawAll(db, [id], 'the device was decommissioned')
  const details = { from: moved.before, withdrawnCommands: withdrawn.length }
  ctx.audited({ type: 'device', id, name: hostname, partnerId, orgId, details })
  ctx.after(() => tellDead(ports.bus, dead, 'DECOMMISSIONED'))
  ctx.after(() => tellFinished(ports.bus, withdrawn))
  return { success: true }
}

/** The device's tenant and name; undefined when the caller may not see it. What its child resources ask before they answer. */
export const deviceOwner = (db: Db, deviceId: string): Promise<DeviceOwner | undefined> =>
  findOwner(db, deviceId)
