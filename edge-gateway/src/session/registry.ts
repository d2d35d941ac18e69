import type { Claim } from '../claims/claims.ts'
import type { Via } from '../transport/link.ts'
import type { Session } from './session.ts'

/** Who is here: newcomers by connection, residents by device. A device has at most one resident. */
export class Registry {
  readonly newcomers = new Set<Session>()
  readonly residents = new Map<string, Session>()

  /** Connections that are open. */
  get size(): number {
    return this.newcomers.size + this.residents.size
  }

  /** Residents by what carries them. Looks at each. */
  via(): Record<Via, number> {
    const counts = { websocket: 0, mqtt: 0 }
    for (const { link } of this.residents.values()) counts[link.via]++
    return counts
  }

  /** Residents that frames wait for, and how much. Looks at each. */
  backlog(): { sessions: number; bytes: number } {
    const slow = { sessions: 0, bytes: 0 }
    for (const { held, link } of this.residents.values()) {
      const bytes = held > 0 ? link.backlog : 0
      if (bytes === 0) continue
      slow.sessions++
      slow.bytes += bytes
    }
    return slow
  }

  /** What the residents hold, for this node. */
  claimsOf(node: string): Claim[] {
    return [...this.residents.values()].map(({ deviceId, epoch }) => ({ deviceId, epoch, node }))
  }

  /** Closes those whose claims somebody else holds by now. */
  supersede(lost: readonly Claim[]): void {
    for (const { deviceId, epoch } of lost) {
      const session = this.residents.get(deviceId)
      if (session?.epoch === epoch) session.close('SUPERSEDED')
    }
  }

  enter(session: Session): void {
    this.newcomers.add(session)
  }

  /** Makes a newcomer the resident of its device. Returns the one that was before. */
  settle(session: Session): Session | undefined {
    this.newcomers.delete(session)
    const before = this.residents.get(session.deviceId)
    this.residents.set(session.deviceId, session)
    return before
  }

  /** A resident that has been replaced takes nobody with it. */
  leave(session: Session): void {
    this.newcomers.delete(session)
    if (this.residents.get(session.deviceId) === session) this.residents.delete(session.deviceId)
  }
}
