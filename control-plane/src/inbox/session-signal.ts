import { isIP } from 'node:net'
import { svc } from '@svc/proto'
import { heard, type Presence } from './presence.ts'
import type { Item } from './item.ts'

const text = (value: string | null | undefined) => value?.slice(0, 255) || undefined

/** An address as Postgres reads it: no zone, IPv4 as IPv4. Undefined for anything else. */
function addressOf(remote: string | null | undefined): string | undefined {
  const address = (remote ?? '').replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '')
  return isIP(address) ? address : undefined
}

/** Only these words of an agent mean that it will stay away: everything else may be back in a second. */
const farewells: readonly (svc.v1.CloseReason | undefined)[] = [
  svc.v1.CloseReason.SHUTDOWN,
  svc.v1.CloseReason.UNINSTALL,
]

/** A connection opened or closed. Closing is not contact, and takes only its own connection away. */
export function sessionSignal(presence: Presence, item: Item): void {
  const { session } = item.up
  if (!session) return
  const { kind, hello, reason, remoteAddress } = session
  presence.said = true
  if (kind === svc.v1.SessionEvent.Kind.CONNECTED && hello?.role === svc.v1.AgentRole.WATCHDOG) {
    // It is here because the agent is not: nobody can be reached by this.
    presence.watchdogs = true
    presence.node = null
    presence.watchdogMs = item.receivedAtMs
    presence.reported.watchdogVersion = text(hello.watchdogVersion)
  } else if (kind === svc.v1.SessionEvent.Kind.CONNECTED) {
    presence.node = item.node
    if (!presence.connected) presence.connects += session.connects || 1
    presence.connected = true
    heard(presence, item, {
      agentVersion: text(hello?.agentVersion),
      helperVersion: text(hello?.helperVersion),
      watchdogVersion: text(hello?.watchdogVersion),
      bootId: text(hello?.bootId),
      address: addressOf(remoteAddress),
    })
  } else if (kind === svc.v1.SessionEvent.Kind.DISCONNECTED) {
    presence.node = null
    if (!presence.watchdogs && farewells.includes(reason ?? undefined)) presence.triggers.push('left')
  }
}
