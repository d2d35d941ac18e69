import { quarantine } from '../../../../engines/identity/quarantine.ts'
import { forgetInstances } from '../../../../engines/identity/watch.ts'
import { endCredentials } from '../../../../engines/status/credentials.ts'
import { moveDevice } from '../../../../engines/status/move.ts'
import { tellDead } from '../../../../engines/status/tell-dead.ts'
import { withdrawAll } from '../../../../engines/work/cancel.ts'
import { tellFinished } from '../../../../engines/work/hints.ts'
import type { Ctx } from '../../../../kernel/context.ts'
import { ApiError, wrongField } from '../../../../kernel/errors.ts'
import { partnerOfSite } from '../../../tenancy/orgs/sites/service.ts'
import { holdPlace } from '../../agents/service.ts'
import { deviceOwner } from '../devices/service.ts'
import {
  clearQuarantine,
  leaveGroups,
  lockDevice,
  relocate,
  relocatePresence,
  type StandingDevice,
} from './queries.ts'
import type { MoveDevice, QuarantineDevice } from './schema.ts'

type OfDevice<Body = unknown> = Ctx<{ id: string }, unknown, Body>
type Done = { success: true }

/**
 * Cuts a device off until it is released: within five seconds nobody is connected as it, and what was under way for it has ended.
 *
 * @throws ApiError 409 with `{from, to}` when it is quarantined or decommissioned
 */
export async function quarantineDevice(ctx: OfDevice<QuarantineDevice>): Promise<Done | undefined> {
  const { db, params, body, ports } = ctx
  const device = await deviceOwner(db, params.id)
  const done = device && (await quarantine(db, device.id, body.reason))
  if (!done) return undefined
  const { id, partnerId, orgId, hostname } = device
  const details = { from: done.before, reason: body.reason, withdrawnCommands: done.withdrawn.length }
  ctx.audited({ type: 'device', id, name: hostname, partnerId, orgId, details })
  ctx.after(() => tellDead(ports.bus, done.dead, 'QUARANTINED'))
  ctx.after(() => tellFinished(ports.bus, done.withdrawn))
  return { success: true }
}

/**
 * Lets a device in again, with the token that it has. Who it was before is forgotten: of a device that was a copy one has to be gone.
 *
 * @throws ApiError 409 with `{from, to}` when it is not in quarantine
 */
export async function releaseDevice(ctx: OfDevice): Promise<Done | undefined> {
  const { db, params } = ctx
  const device = await deviceOwner(db, params.id)
  const moved = device && (await moveDevice(db, device.id, 'released'))
  if (!moved) return undefined
  const { id, partnerId, orgId, hostname } = device
  await clearQuarantine(db, id)
  await forgetInstances(db, id)
  ctx.audited({ type: 'device', id, name: hostname, partnerId, orgId, details: { to: moved.after } })
  return { success: true }
}

/**
 * Moves a device to a site of another organization that the caller sees too. Its connection is cut, so that what either organization has
 * to say to it goes over one of its own; what was under way ends as `cancelled` where it was asked for, and its history stays there.
 *
 * @throws ApiError 404 for a site that the caller does not see; 400 when it is there already; 403 DEVICE_LIMIT_REACHED; 409 for
 * a decommissioned device
 */
export async function moveToOrganization(ctx: OfDevice<MoveDevice>): Promise<Done | undefined> {
  const { db, params, body, ports } = ctx
  const target = await partnerOfSite(db, body)
  if (target === undefined) return undefined
  await relocatePresence(db, params.id, body.orgId)
  const device = await lockDevice(db, params.id)
  // Whoever sees several partners still moves nothing from one to another.
  if (!device || device.partnerId !== target) return undefined
  requireMovable(device, body)
  await requirePlace(ctx, body.orgId)
  const { id, partnerId, orgId, hostname } = device
  const dead = await endCredentials(db, [id], { reason: 'MOVED', keepsToken: true })
  const withdrawn = await withdrawAll(db, [id], 'the device was moved to another organization')
  const left = await leaveGroups(db, id)
  await relocate(db, id, body)
  const details = {
    to: { orgId: body.orgId, siteId: body.siteId },
    leftGroups: left.length,
    withdrawnCommands: withdrawn.length,
  }
  ctx.audited({ type: 'device', id, name: hostname, partnerId, orgId, details })
  const event = { subjectId: id, partnerId, payload: { deviceId: id } }
  ctx.emit({ ...event, type: 'device.moved_out', orgId })
  ctx.emit({ ...event, type: 'device.moved_in', orgId: body.orgId })
  ctx.after(() => tellDead(ports.bus, dead, 'MOVED'))
  ctx.after(() => tellFinished(ports.bus, withdrawn))
  return { success: true }
}

function requireMovable({ orgId, lifecycle }: StandingDevice, body: MoveDevice): void {
  if (orgId === body.orgId) throw wrongField('orgId', 'is where the device is already')
  if (lifecycle === 'decommissioned') {
    throw new ApiError('CONFLICT', 'a decommissioned device stays where it is', {
      details: [{ from: lifecycle, to: lifecycle }],
    })
  }
}

async function requirePlace({ db }: OfDevice<MoveDevice>, orgId: string): Promise<void> {
  const { devices, most } = await holdPlace(db, orgId)
  if (most === null || devices < most) return
  throw new ApiError('DEVICE_LIMIT_REACHED', `the organization has ${devices} of ${most} devices`, {
    details: [{ currentDevices: devices, maxDevices: most }],
  })
}
