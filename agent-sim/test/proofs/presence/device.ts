import { encodeBody, svc, withSeq } from '@svc/proto'
import { dial, type Peer } from '../../system/harness/peer.ts'
import type { Identity } from '../ledgers.ts'
import type { Gateways } from './gateways.ts'
import { Model } from './model.ts'

/** How a device lets go of a connection. */
export const partings = ['goodbye', 'end', 'cut'] as const
export type Parting = (typeof partings)[number]

/** What befell devices, by kind; those that a gateway heard of only when it woke count as `late` besides. */
export type Tally = Map<string, number>

/** svc.v1.CloseReason, as a close code */
const supersededCode = 4000 + svc.v1.CloseReason.SUPERSEDED

/** A device whose connections are in our hands. All that is seen of them is told to its model. */
export class Device {
  readonly id: string
  readonly model = new Model()
  readonly #token: string
  readonly #gateways: Gateways
  readonly #tally: Tally
  /** by the model's number, as long as they are open */
  readonly #peers = new Map<number, Peer>()
  readonly #asking = new Set<Promise<void>>()

  constructor({ deviceId, deviceToken }: Identity, gateways: Gateways, tally: Tally) {
    this.id = deviceId
    this.#token = deviceToken
    this.#gateways = gateways
    this.#tally = tally
  }

  /** Asks a gateway for a connection, whatever others there are. Resolves when it is known what came of it. Never rejects. */
  connect(gateway: number): Promise<void> {
    const one: Promise<void> = this.#connect(gateway).finally(() => this.#asking.delete(one))
    this.#asking.add(one)
    return one
  }

  /** Ends one of its open connections: the newest that it knows of, or one that may have been forgotten. */
  part(connection: number, how: Parting): void {
    const peer = this.#peers.get(connection)
    if (!peer) return
    this.model.left(connection)
    this.#peers.delete(connection)
    this.#count(how, connection)
    if (how === 'goodbye')
      peer.send(withSeq(3, encodeBody({ goodbye: { reason: svc.v1.CloseReason.SHUTDOWN } })))
    else if (how === 'end') peer.end()
    else peer.drop()
  }

  /** Says on an open connection that it is there. */
  beat(connection: number): void {
    this.#count('heartbeat', connection)
    this.#peers.get(connection)?.send(withSeq(2, encodeBody({ heartbeat: {} })))
  }

  /** Whether that connection carries both ways. */
  async isHeard(connection: number): Promise<boolean> {
    return (await this.#peers.get(connection)?.isHeard()) ?? false
  }

  /** Resolves when nothing that it asked for is open any more. */
  async answered(): Promise<void> {
    await Promise.all(this.#asking)
  }

  close(): void {
    for (const peer of this.#peers.values()) peer.drop()
  }

  async #connect(gateway: number): Promise<void> {
    const life = this.#gateways.lifeOf(gateway)
    const takesOver = this.model.open.length > 0
    const connection = this.model.asked(life)
    this.#count(takesOver ? 'takeover' : 'connect', connection)
    // Who is not let in as far as to a greeting was never admitted.
    const peer = await dial(this.#gateways.url(gateway), this.#token).catch(() => 0)
    if (typeof peer === 'number') return this.model.refused(connection)
    // Whoever waited before a gateway that stalled, with its queue full, may have come to the next one of its port when it was dead.
    if (this.#gateways.isDead(life)) {
      peer.drop()
      return this.model.refused(connection)
    }
    const answer = await peer.greet()
    if (answer?.refused) return this.model.refused(connection)
    if (!answer?.welcome) return
    this.#peers.set(connection, peer)
    this.model.welcomed(connection, answer.welcome.epoch ?? 0)
    void peer.closed.then((code) => {
      this.#peers.delete(connection)
      this.model.closed(connection, code === supersededCode)
    })
  }

  #count(kind: string, connection: number): void {
    const add = (what: string) => this.#tally.set(what, (this.#tally.get(what) ?? 0) + 1)
    add(kind)
    if (this.#gateways.isPaused(this.model.connections[connection]?.life ?? -1)) add(`late ${kind}`)
  }
}
