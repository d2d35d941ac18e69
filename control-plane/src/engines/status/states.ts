/** The four independent facts about a device. */
export interface Facts {
  lifecycle: 'pending' | 'active' | 'quarantined' | 'decommissioned'
  connectivity: 'online' | 'offline'
  activity: 'none' | 'updating'
  inMaintenance: boolean
}

export type Status =
  | 'pending'
  | 'online'
  | 'offline'
  | 'updating'
  | 'maintenance'
  | 'quarantined'
  | 'decommissioned'

/**
 * What can happen to a device:
 * - `seen`: its agent connected or sent a heartbeat
 * - `left`: its agent said goodbye for good (shutdown, uninstall)
 * - `fell_silent`: nothing heard for longer than allowed
 * - the others are somebody's doing
 */
export type DeviceTrigger =
  | 'seen'
  | 'left'
  | 'fell_silent'
  | 'update_started'
  | 'update_finished'
  | 'quarantined'
  | 'released'
  | 'maintenance_started'
  | 'maintenance_ended'
  | 'decommissioned'
  | 'restored'

interface Rule {
  /** the lifecycles it may happen in */
  from: readonly Facts['lifecycle'][]
  /** and these facts must be so */
  when?: Partial<Facts>
  /** what is so afterwards */
  to: Partial<Facts>
}

const live = ['pending', 'active'] as const
const cutOff = { connectivity: 'offline', activity: 'none' } as const

/** `from × trigger → to`. What is not here is illegal. */
export const deviceTransitions: Record<DeviceTrigger, Rule> = {
  seen: { from: live, to: { lifecycle: 'active', connectivity: 'online' } },
  left: { from: ['pending', 'active', 'quarantined'], to: cutOff },
  fell_silent: { from: ['pending', 'active', 'quarantined', 'decommissioned'], to: cutOff },
  update_started: { from: ['active'], when: { connectivity: 'online' }, to: { activity: 'updating' } },
  update_finished: { from: ['active'], when: { activity: 'updating' }, to: { activity: 'none' } },
  quarantined: { from: live, to: { lifecycle: 'quarantined', ...cutOff } },
  released: { from: ['quarantined'], to: { lifecycle: 'active' } },
  maintenance_started: { from: ['active'], when: { inMaintenance: false }, to: { inMaintenance: true } },
  maintenance_ended: { from: ['active'], when: { inMaintenance: true }, to: { inMaintenance: false } },
  decommissioned: {
    from: ['pending', 'active', 'quarantined'],
    to: { lifecycle: 'decommissioned', inMaintenance: false, ...cutOff },
  },
  restored: { from: ['decommissioned'], to: { lifecycle: 'active' } },
}

/** The facts after `trigger`, or undefined where it is illegal. Equal facts: legal, and nothing changes. */
export function step(facts: Facts, trigger: DeviceTrigger): Facts | undefined {
  const { from, when, to } = deviceTransitions[trigger]
  const holds = Object.entries(when ?? {}).every(([name, value]) => facts[name as keyof Facts] === value)
  return holds && from.includes(facts.lifecycle) ? { ...facts, ...to } : undefined
}

/**
 * decommissioned > quarantined > pending > updating > maintenance > online | offline. The generated column `devices.status` says
 * the same in SQL; a test compares the two.
 */
export function project(facts: Facts): Status {
  if (facts.lifecycle !== 'active') return facts.lifecycle
  if (facts.activity === 'updating') return 'updating'
  return facts.inMaintenance ? 'maintenance' : facts.connectivity
}

export const sameFacts = (a: Facts, b: Facts): boolean =>
  a.lifecycle === b.lifecycle &&
  a.connectivity === b.connectivity &&
  a.activity === b.activity &&
  a.inMaintenance === b.inMaintenance
