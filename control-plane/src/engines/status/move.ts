import { ApiError } from '../../kernel/errors.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { emitAll } from '../events/emit.ts'
import { eventsOf, type Subject } from './events.ts'
import { deviceTransitions, type DeviceTrigger, type Facts, project, type Status, step } from './states.ts'

/** The facts after `trigger`. @throws ApiError CONFLICT with `{from, to}` where it is illegal */
export function requireStep(facts: Facts, trigger: DeviceTrigger): Facts {
  const after = step(facts, trigger)
  if (after) return after
  const [from, to] = [project(facts), project({ ...facts, ...deviceTransitions[trigger].to })]
  const message =
    from === to
      ? `the device is ${from} already`
      : `a device that is ${from} cannot be ${trigger.replace('_', ' ')}`
  throw new ApiError('CONFLICT', message, { details: [{ from, to }] })
}

/**
 * Moves one device, in the caller's transaction: facts, the moment of last contact when it goes offline, and events.
 * Undefined when the caller may not see the device.
 * @param more what the trigger's own event says beside the states
 * @throws ApiError CONFLICT with `{from, to}` where the move is illegal
 */
export async function moveDevice(
  db: Db,
  deviceId: string,
  trigger: DeviceTrigger,
  more: Record<string, string> = {},
): Promise<{ before: Status; after: Status } | undefined> {
  const device = await db.one<Subject & Facts>`
    select d.id, d.partner_id, d.org_id, d.lifecycle, d.connectivity, d.activity, d.in_maintenance
    from devices d where d.id = ${deviceId}::uuid and ${db.visibleDevice('d')} for no key update`
  if (!device) return undefined
  const after = requireStep(device, trigger)
  await writeFacts(db, deviceId, after)
  emitAll(db, eventsOf(device, trigger, device, after, more))
  return { before: project(device), after: project(after) }
}

async function writeFacts(db: Db, deviceId: string, facts: Facts): Promise<void> {
  await db.run`
    update devices d set lifecycle = ${facts.lifecycle}, connectivity = ${facts.connectivity},
      activity = ${facts.activity}, in_maintenance = ${facts.inMaintenance}, updated_at = now(),
      decommissioned_at = case when ${facts.lifecycle} = 'decommissioned' then coalesce(d.decommissioned_at, now()) end,
      connectivity_told = case when d.flapping_since is not null then ${facts.connectivity} end,
      offline_seen_at = case when d.connectivity = 'online' and ${facts.connectivity} = 'offline'
        then (select p.last_seen_at from device_presence p where p.device_id = d.id) else d.offline_seen_at end
    where d.id = ${deviceId}::uuid and ${db.visibleDevice('d')}`
}
