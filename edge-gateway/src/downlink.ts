import { type CloseReason, svc } from '@svc/proto'
import { type Bus, names, type Unsubscribe } from '@svc/proto/bus'
import { count, type Counters } from './ops/counters.ts'
import type { Outbound } from './session/outbound.ts'
import type { Overtaken } from './session/overtaken.ts'
import type { Registry } from './session/registry.ts'
import type { Trail } from './session/trail.ts'

export interface DownlinkDeps {
  bus: Bus
  node: string
  registry: Registry
  outbound: Outbound
  counters: Counters
  trail: Trail
  overtaken: Overtaken
  /** a connection is cut when a newer one is known; a proof takes that away */
  evicts: boolean
  revoke: (revocations: readonly svc.v1.IRevocation[]) => Promise<void>
  /** Somebody has seen a higher epoch than we have: the next one must be above it. */
  raise: (deviceId: string, epoch: number) => void
  failed: (error: unknown) => void
}

/** What the control plane, and other gateways, tell this one. All of it may be lost on the way, and none of it is trusted to fit. */
export class Downlink {
  readonly #deps: DownlinkDeps
  #subscriptions: Unsubscribe[] = []

  constructor(deps: DownlinkDeps) {
    this.#deps = deps
  }

  async start(): Promise<void> {
    const { bus, node } = this.#deps
    const take = (payload: Uint8Array) => this.take(payload)
    this.#subscriptions = await Promise.all([
      bus.subscribe(names.edge(node), take),
      bus.subscribe(names.edgeAll(), take),
    ])
  }

  /** Never throws: it is called from inside the bus, where an error of ours would end the process. */
  take(payload: Uint8Array): void {
    try {
      this.#obey(this.#decode(payload))
    } catch (error) {
      this.#deps.failed(error)
    }
  }

  #obey(message: svc.v1.EdgeMessage | undefined): void {
    if (message?.deliver) this.#deliver(message.deliver)
    else if (message?.disconnect) this.#disconnect(message.disconnect)
    else if (message?.revocation) this.#deps.revoke([message.revocation]).catch(this.#deps.failed)
    else count(this.#deps.counters.dropped, 'bad_edge_message')
  }

  close(): void {
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe()
  }

  #decode(payload: Uint8Array): svc.v1.EdgeMessage | undefined {
    try {
      return svc.v1.EdgeMessage.decode(payload)
    } catch {
      return undefined
    }
  }

  #deliver(message: svc.v1.IDeliver): void {
    const { deviceId, epoch, frame } = message
    const { registry, outbound, counters, trail } = this.#deps
    const session = registry.residents.get(deviceId ?? '')
    if (!session || !frame?.length) return count(counters.dropped, 'deliver_unknown_device')
    if (epoch && epoch !== session.epoch) return count(counters.dropped, 'deliver_stale_epoch')
    trail.down(session, message, () => outbound.forward(session, frame))
  }

  #disconnect({ deviceId, belowEpoch, reason }: svc.v1.IDisconnect): void {
    if (belowEpoch && !this.#deps.evicts) return
    const session = this.#deps.registry.residents.get(deviceId ?? '')
    if (belowEpoch && deviceId) {
      this.#deps.raise(deviceId, belowEpoch)
      this.#deps.overtaken.superseded(deviceId, belowEpoch)
    }
    if (session && (!belowEpoch || session.epoch < belowEpoch)) session.close(reasonOf(reason))
  }
}

/** A reason from a newer control plane is nobody's fault. */
export const reasonOf = (reason: svc.v1.CloseReason | null | undefined): CloseReason =>
  (svc.v1.CloseReason[reason ?? 0] as CloseReason | undefined) ?? 'CLOSE_REASON_UNSPECIFIED'
