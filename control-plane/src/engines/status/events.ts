import type { Event } from '../events/emit.ts'
import { type DeviceTrigger, type Facts, project } from './states.ts'

/** Whose facts changed. */
export interface Subject {
  id: string
  partnerId: string
  orgId: string
  /** it comes and goes: of that nobody is told each time, see flapping.ts */
  flaps?: boolean
}

/** The event that somebody's doing is, beside what it does to connectivity. */
const told = {
  quarantined: 'device.quarantined',
  released: 'device.released',
  maintenance_started: 'device.maintenance_started',
  maintenance_ended: 'device.maintenance_ended',
  decommissioned: 'device.decommissioned',
  restored: 'device.restored',
} as const satisfies Partial<Record<DeviceTrigger, Event['type']>>

/** What a device does by itself, again and again while it flaps. */
const isComing: ReadonlySet<DeviceTrigger> = new Set(['seen', 'left', 'fell_silent'])

const tellable = (trigger: DeviceTrigger): trigger is keyof typeof told => trigger in told

/** What one step has to tell, in the order it became true. */
export function eventsOf(
  device: Subject,
  trigger: DeviceTrigger,
  before: Facts,
  after: Facts,
  more: Record<string, string> = {},
): Event[] {
  const event = (type: Event['type'], said: Record<string, string> = {}): Event => ({
    type,
    subjectId: device.id,
    partnerId: device.partnerId,
    orgId: device.orgId,
    payload: { deviceId: device.id, from: project(before), to: project(after), ...said },
  })
  const events: Event[] = []
  if (tellable(trigger)) events.push(event(told[trigger], more))
  if (before.connectivity !== after.connectivity && !(device.flaps && isComing.has(trigger))) {
    events.push(event(after.connectivity === 'online' ? 'device.online' : 'device.offline'))
  }
  return events
}
