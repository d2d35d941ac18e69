import { plainArray, textArray } from '../../db/array-literal.ts'
import type { Db } from '../../kernel/tenancy.ts'
import { emitAll, type Event } from '../events/emit.ts'
import { eventsOf, type Subject } from './events.ts'
import { flappingBegan } from './flapping.ts'
import { type DeviceTrigger, type Facts, step } from './states.ts'

/** What a device says about itself as it reports in; undefined: not said, what is known stays. */
export interface Reported {
  agentVersion?: string | undefined
  helperVersion?: string | undefined
  watchdogVersion?: string | undefined
  bootId?: string | undefined
  pendingReboot?: boolean | undefined
  lastUser?: string | undefined
  address?: string | undefined
}

/** One device's news of one batch. `epoch`: the connection it came on. */
export interface Contact {
  deviceId: string
  epoch: number
  /** in order */
  triggers: readonly ('seen' | 'left')[]
  reported: Reported
  /** it connects again and again */
  flapping: boolean
}

/** A contact, or a device that said nothing and is locked all the same. */
type Locked = Omit<Contact, 'epoch'> & { epoch: number | null }
const nothingSaid: Omit<Locked, 'deviceId'> = { epoch: null, triggers: [], reported: {}, flapping: false }

type Device = Subject & Facts & { agentVersion: string | null; flaps: boolean; changing: boolean }

/**
 * Device rows after a batch of contacts whose epochs stand in `device_presence`. A fleet at rest costs one statement that finds
 * nothing: rows are locked and written only where something changes. Must run in a statement after the presence rows were
 * written: the sweep locks those first, so whoever comes second sees what the other did.
 *
 * @param written ids of devices whose rows later statements of the transaction write: they are locked here too, all at once and in the
 * order of their ids, as by everybody who waits for several
 */
export async function applyContacts(
  db: Db,
  contacts: readonly Contact[],
  written: readonly string[] = [],
): Promise<void> {
  if (contacts.length === 0 && written.length === 0) return
  const changing = (await lockDevices(db, contacts, written)).filter((device) => device.changing)
  if (changing.length === 0) return
  const byId = new Map(contacts.map((contact) => [contact.deviceId, contact]))
  const writes: { after: Facts; contact: Contact }[] = []
  const events: Event[] = []
  for (const device of changing) {
    const contact = byId.get(device.id)
    if (!contact) continue
    const result = play(device, contact)
    writes.push({ after: result.after, contact })
    events.push(...result.events)
  }
  updateDevices(db, writes)
  emitAll(db, events)
}

/** Plays a contact's triggers through the table, from what the device row says. */
function play(device: Device, contact: Contact): { after: Facts; events: Event[] } {
  const triggers: DeviceTrigger[] = [...contact.triggers]
  // interface §Versioning 4: the first heartbeat of the new version ends the update.
  const { agentVersion } = contact.reported
  if (agentVersion !== undefined && agentVersion !== device.agentVersion) triggers.push('update_finished')
  const events: Event[] = []
  let facts: Facts = device
  for (const trigger of triggers) {
    const after = step(facts, trigger)
    if (!after) continue
    events.push(...eventsOf(device, trigger, facts, after))
    facts = after
  }
  if (contact.flapping && !device.flaps) events.push(flappingBegan(device, facts))
  return { after: facts, events }
}

/** Of the contacts those in which something changes, and those that are written anyway. */
function lockDevices(db: Db, changing: readonly Contact[], written: readonly string[]): Promise<Device[]> {
  const anyway = new Set(written)
  const met = new Set(changing.map(({ deviceId }) => deviceId))
  const unmet = [...anyway].filter((id) => !met.has(id)).map((deviceId) => ({ ...nothingSaid, deviceId }))
  const contacts: Locked[] = [...changing, ...unmet]
  const said = contacts.map((contact) => contact.reported)
  return db.rows<Device>`
    select d.id, d.partner_id, d.org_id, d.lifecycle, d.connectivity, d.activity, d.in_maintenance, d.agent_version,
      d.flapping_since is not null as flaps, c.changing
    from unnest(${plainArray(contacts.map((c) => c.deviceId))}::uuid[],
      ${plainArray(contacts.map((c) => c.epoch))}::bigint[],
      ${plainArray(contacts.map((c) => c.triggers.includes('seen')))}::boolean[],
      ${plainArray(contacts.map((c) => c.triggers.includes('left')))}::boolean[],
      ${textArray(said.map((r) => r.agentVersion))}::text[], ${textArray(said.map((r) => r.helperVersion))}::text[],
      ${textArray(said.map((r) => r.watchdogVersion))}::text[], ${textArray(said.map((r) => r.bootId))}::text[],
      ${plainArray(said.map((r) => r.pendingReboot))}::boolean[], ${textArray(said.map((r) => r.lastUser))}::text[],
      ${textArray(said.map((r) => r.address))}::inet[], ${plainArray(contacts.map((c) => c.flapping))}::boolean[],
      ${plainArray(contacts.map((c) => anyway.has(c.deviceId)))}::boolean[])
      as b (id, epoch, seen, gone, agent_version, helper_version, watchdog_version, boot_id, pending_reboot, last_user,
        address, flapping, written)
    join devices d on d.id = b.id
    left join device_presence p on p.device_id = b.id and p.epoch = b.epoch
    cross join lateral (select p.device_id is not null and d.lifecycle <> 'decommissioned' and (b.gone or (b.flapping and d.flapping_since is null)
      or (b.seen and (d.main_agent_silent_since is not null or d.watchdog_status = 'failover'))
      or (b.seen and (d.lifecycle = 'pending' or (d.lifecycle = 'active' and d.connectivity = 'offline')))
      or d.agent_version is distinct from coalesce(b.agent_version, d.agent_version)
      or d.helper_version is distinct from coalesce(b.helper_version, d.helper_version)
      or d.watchdog_version is distinct from coalesce(b.watchdog_version, d.watchdog_version)
      or d.boot_id is distinct from coalesce(b.boot_id, d.boot_id)
      or d.pending_reboot is distinct from coalesce(b.pending_reboot, d.pending_reboot)
      or d.last_user is distinct from coalesce(b.last_user, d.last_user)
      or d.last_seen_ip is distinct from coalesce(b.address, d.last_seen_ip)) as changing) c
    where c.changing or b.written
    order by d.id for no key update of d`
}

function updateDevices(db: Db, writes: readonly { after: Facts; contact: Contact }[]): void {
  const facts = writes.map((write) => write.after)
  const said = writes.map((write) => write.contact.reported)
  db.later`
    update devices d set lifecycle = b.lifecycle, connectivity = b.connectivity, activity = b.activity,
      agent_version = coalesce(b.agent_version, d.agent_version),
      helper_version = coalesce(b.helper_version, d.helper_version),
      watchdog_version = coalesce(b.watchdog_version, d.watchdog_version),
      boot_id = coalesce(b.boot_id, d.boot_id),
      pending_reboot = coalesce(b.pending_reboot, d.pending_reboot),
      last_user = coalesce(b.last_user, d.last_user),
      last_seen_ip = coalesce(b.address, d.last_seen_ip),
      enrolled_at = case when d.lifecycle = 'pending' and b.lifecycle = 'active' then coalesce(d.enrolled_at, now())
        else d.enrolled_at end,
      offline_seen_at = case when b.gone or (d.connectivity = 'online' and b.connectivity = 'offline')
        then (select p.last_seen_at from device_presence p where p.device_id = d.id) else d.offline_seen_at end,
      -- The agent speaks for itself again.
      main_agent_silent_since = case when not b.seen then d.main_agent_silent_since end,
      watchdog_status = case when b.seen and d.watchdog_status = 'failover' then 'connected' else d.watchdog_status end,
      flapping_since = coalesce(d.flapping_since, case when b.flapping then now() end),
      connectivity_told = coalesce(d.connectivity_told, case when b.flapping then b.connectivity end),
      updated_at = now()
    from unnest(${plainArray(writes.map((w) => w.contact.deviceId))}::uuid[],
      ${plainArray(facts.map((f) => f.lifecycle))}::text[], ${plainArray(facts.map((f) => f.connectivity))}::text[],
      ${plainArray(facts.map((f) => f.activity))}::text[],
      ${plainArray(writes.map((w) => w.contact.triggers.includes('left')))}::boolean[],
      ${textArray(said.map((r) => r.agentVersion))}::text[], ${textArray(said.map((r) => r.helperVersion))}::text[],
      ${textArray(said.map((r) => r.watchdogVersion))}::text[], ${textArray(said.map((r) => r.bootId))}::text[],
      ${plainArray(said.map((r) => r.pendingReboot))}::boolean[], ${textArray(said.map((r) => r.lastUser))}::text[],
      ${textArray(said.map((r) => r.address))}::inet[],
      ${plainArray(writes.map((w) => w.contact.triggers.includes('seen')))}::boolean[],
      ${plainArray(writes.map((w) => w.contact.flapping))}::boolean[])
      as b (id, lifecycle, connectivity, activity, gone, agent_version, helper_version, watchdog_version, boot_id,
        pending_reboot, last_user, address, seen, flapping)
    where d.id = b.id`
}
