import { svc } from '@svc/proto'
import { heard, type Presence } from './presence.ts'
import type { Item } from './item.ts'

const text = (value: string | null | undefined) => value?.slice(0, 255) || undefined
const number = (value: number | null | undefined) =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined
const count = (value: number | null | undefined) => {
  const finite = number(value)
  return finite === undefined ? undefined : Math.min(Math.trunc(finite), Number.MAX_SAFE_INTEGER)
}

/** A heartbeat: contact, and what the agent says of itself. An agent that names no user keeps the last one known. */
export function deviceSeen(presence: Presence, item: Item): void {
  const { heartbeat } = item.up
  if (!heartbeat) return
  // The watchdog's life is its own: it says nothing about the agent's.
  if (heartbeat.role === svc.v1.AgentRole.WATCHDOG) {
    presence.reported.watchdogVersion = text(heartbeat.watchdogVersion)
    presence.watchdogMs = Math.max(presence.watchdogMs ?? 0, item.receivedAtMs)
    return
  }
  heard(presence, item, {
    agentVersion: text(heartbeat.agentVersion) ?? presence.reported.agentVersion,
    helperVersion: text(heartbeat.helperVersion) ?? presence.reported.helperVersion,
    watchdogVersion: text(heartbeat.watchdogVersion) ?? presence.reported.watchdogVersion,
    lastUser: text(heartbeat.loggedInUser) ?? presence.reported.lastUser,
    pendingReboot: heartbeat.pendingReboot ?? false,
  })
  presence.beat = {
    agentVersion: text(heartbeat.agentVersion),
    helperVersion: text(heartbeat.helperVersion),
    configVersion: heartbeat.configVersion ?? 0,
  }
  presence.metrics = { ...presence.metrics, ...metricsOf(heartbeat) }
}

function metricsOf({ metrics, uptimeSeconds }: svc.v1.IHeartbeat): Presence['metrics'] {
  const uptime = count(uptimeSeconds)
  if (!metrics) return uptime === undefined ? {} : { uptime }
  const said = {
    cpu: number(metrics.cpuPercent),
    ram: number(metrics.ramPercent),
    disk: number(metrics.diskPercent),
    uptime,
  }
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
}
