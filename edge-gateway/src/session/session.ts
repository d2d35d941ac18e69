import type { CloseReason, svc } from '@svc/proto'
import type { Limits } from '../ops/limits.ts'
import type { Greeting, Handlers, Link, Taken } from '../transport/link.ts'
import { type Effect, type Event, opening, type State, step } from './states.ts'

/** What is known of a connection only until it is admitted. */
export interface Newcomer {
  greeting: Greeting
  hello: svc.v1.IHello | undefined
  /** ms since 1970; 0: not told */
  renewAtMs?: number
}

/** How many frames a device may send in one go, and how many more with each tick. */
export interface Allowance {
  burst: number
  perTick: number
}

export const allowanceOf = ({ frameBurst, framesPerSecond, tickMs }: Limits): Allowance => ({
  burst: frameBurst,
  perTick: (framesPerSecond * tickMs) / 1_000,
})

/** What a session needs from the gateway. One object for all of them. */
export interface Host {
  /** current tick of the wheel */
  readonly tick: number
  readonly allowance: Allowance
  /** the first frame of a connection */
  hello(session: Session, frame: Uint8Array): void
  /** a frame of a device that is admitted */
  route(session: Session, frame: Uint8Array, taken: Taken | undefined): void
  perform(session: Session, effect: Effect): void
}

/**
 * One connection. There is one per device and the fleet is large, so it holds a few numbers and no closures, timers or maps of its
 * own.
 */
export class Session implements Handlers {
  readonly deviceId: string
  readonly link: Link
  readonly #host: Host
  state: State = opening
  newcomer: Newcomer | undefined
  credentialVersion = 0
  heartbeatIntervalMs = 0
  /** of the last frame sent */
  seq = 0
  /** frames accepted by the link and not on the wire yet, at most */
  held = 0
  /** tick of the last frame heard, and how many more may come */
  heard: number
  #left: number
  /** tick at which the wheel looks again */
  due = 0

  constructor(link: Link, greeting: Greeting, host: Host) {
    this.deviceId = greeting.deviceId
    this.link = link
    this.#host = host
    this.newcomer = { greeting, hello: undefined }
    this.heard = host.tick
    this.#left = host.allowance.burst
  }

  /** Of its claim; 0 without one. */
  get epoch(): number {
    return this.state.kind === 'live' || this.state.kind === 'draining' ? this.state.epoch : 0
  }

  /** The number of the next frame sent. */
  next(): number {
    return ++this.seq
  }

  apply(event: Event): void {
    const { state, effects } = step(this.state, event)
    this.state = state
    for (const effect of effects) this.#host.perform(this, effect)
  }

  close(reason: CloseReason): void {
    this.apply({ kind: 'close', reason })
  }

  frame(bytes: Uint8Array, taken?: Taken): void {
    if (!this.#allow()) return this.close('FRAME_RATE')
    switch (this.state.kind) {
      case 'opening':
        return this.#host.hello(this, bytes)
      case 'live':
      case 'draining':
        return this.#host.route(this, bytes, taken)
      // The agent waits for its Welcome.
      case 'admitting':
        return this.close('UNEXPECTED_FRAME')
      case 'gone':
    }
  }

  #allow(): boolean {
    const { tick, allowance } = this.#host
    this.#left = Math.min(allowance.burst, this.#left + (tick - this.heard) * allowance.perTick) - 1
    this.heard = tick
    return this.#left >= 0
  }

  room(): void {
    this.held = 0
  }

  gone(reason: CloseReason): void {
    this.apply({ kind: 'lost', reason })
  }
}
